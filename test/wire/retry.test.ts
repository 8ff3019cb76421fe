import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonResponse } from '../fakes/bytes.ts'
import { Gate } from '../fakes/gate.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { reset, type Script, stall, wait, write } from '../fakes/steps.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../fakes/upstream.ts'
import { quietStatus } from '../kit/quiet.ts'
import { backendYaml, type RouteParts, routeYaml, secretYaml, yamlFile } from '../kit/resources.ts'
import { startWeir, type Weir } from '../kit/weir.ts'
import { answered, DIALECTS, endOf, type WireDialect } from './wire-dialect.ts'

const [openai] = DIALECTS as [WireDialect]

let upstreams: ScriptedUpstream[]
let a: ScriptedUpstream
let b: ScriptedUpstream
let c: ScriptedUpstream
beforeEach(async () => {
  upstreams = await Promise.all([scriptedUpstream(), scriptedUpstream(), scriptedUpstream()])
  ;[a, b, c] = upstreams as [ScriptedUpstream, ScriptedUpstream, ScriptedUpstream]
})
afterEach(() => Promise.all(upstreams.map(each => each.close())))

const counts = () => upstreams.map(({ requests }) => requests.length)
const failing = (status: number, headers: [string, string][] = []): Script => [
  write(jsonResponse(status, openai.errorBody('broken'), headers)),
]

/** Backends a, b and c, without streams' usual patience, and a route. */
function start(route: Pick<RouteParts, 'backends' | 'retry'>): Promise<Weir> {
  const timeouts = { firstByte: '300ms' }
  const backends = ['a', 'b', 'c'].map((name, i) => backendYaml({ name, url: upstreams[i]!.url, timeouts }))
  return startWeir({ files: { 'weir.yaml': yamlFile(...backends, routeYaml({ name: 'chat', ...route })) } })
}

const inOrder = [{ name: 'a' }, { name: 'b', priority: 1 }, { name: 'c', priority: 2 }]

const ask = (weir: Weir, parts?: Parameters<WireDialect['ask']>[0]) => rawRequest(weir.url, openai.ask(parts))

/** Code of the error, tries, and the backend of the last one. */
const outcome = (response: RawResponse) => [
  response.status,
  response.header('x-weir-code'),
  response.header('x-weir-attempts'),
  response.header('x-weir-backend'),
]

async function shares(weir: Weir, count: number): Promise<Record<string, number>> {
  const shares: Record<string, number> = {}
  for (let i = 0; i < count; i++) {
    const response = await ask(weir)
    const who = response.status === 200 ? response.header('x-weir-backend')! : String(response.status)
    shares[who] = (shares[who] ?? 0) + 1
  }
  return shares
}

describe('which backend', () => {
  beforeEach(() => {
    for (const each of upstreams) each.on(() => answered(openai))
  })

  test('the lowest priority number serves alone while it can', async () => {
    const weir = await start({ backends: [{ name: 'b', priority: 3 }, { name: 'a', priority: 7 }, 'c'] })
    expect(await shares(weir, 20)).toEqual({ 'default/c': 20 })
    await quietStatus(weir)
  })

  test('weights share one priority; weight 0 serves only who asks for it by name', async () => {
    const weir = await start({
      backends: [
        { name: 'a', weight: 90 },
        { name: 'b', weight: 10 },
        { name: 'c', weight: 0 },
      ],
    })
    const { 'default/a': most = 0, 'default/b': few = 0, ...none } = await shares(weir, 400)
    expect(none).toEqual({})
    expect(most + few).toBe(400)
    // 40 expected, with a standard deviation of 6.
    expect(few).toBeGreaterThan(10)
    expect(few).toBeLessThan(80)
    const pinned = await ask(weir, { headers: [['x-weir-backend', 'c']] })
    expect(outcome(pinned)).toEqual([200, undefined, '1', 'default/c'])
    await quietStatus(weir)
  })

  test('a missing backend keeps its share of failures; a lower priority takes it over', async () => {
    const weir = await start({ backends: ['a', 'b'] })
    const documents = (backends: RouteParts['backends']) =>
      yamlFile(
        backendYaml({ name: 'a', url: a.url }),
        backendYaml({ name: 'c', url: c.url }),
        routeYaml({ name: 'chat', backends }),
      )
    await weir.edit('weir.yaml', documents(['a', 'b']))
    await weir.waitForApplied()
    const alone = await shares(weir, 200)
    expect(Object.keys(alone).sort()).toEqual(['503', 'default/a'])
    // 100 expected, with a standard deviation of 7.
    expect(alone['503']).toBeGreaterThan(60)
    expect(alone['503']).toBeLessThan(140)

    await weir.edit('weir.yaml', documents(['a', 'b', { name: 'c', priority: 1 }]))
    await weir.waitForApplied()
    const backed = await shares(weir, 200)
    expect(Object.keys(backed).sort()).toEqual(['default/a', 'default/c'])
    expect(backed['default/c']).toBeGreaterThan(60)
    expect(backed['default/c']).toBeLessThan(140)
    expect(b.requests).toHaveLength(0)
    await quietStatus(weir)
  })

  test('a missing backend is no obstacle to whoever already failed at its peer', async () => {
    a.on(() => failing(503))
    const weir = await start({ backends: [{ name: 'a', weight: 1_000_000 }, 'b', 'c'] })
    const documents = [backendYaml({ name: 'a', url: a.url }), backendYaml({ name: 'c', url: c.url })]
    const backends = [{ name: 'a', weight: 1_000_000 }, 'b', 'c']
    await weir.edit('weir.yaml', yamlFile(...documents, routeYaml({ name: 'chat', backends })))
    await weir.waitForApplied()
    expect(await shares(weir, 20)).toEqual({ 'default/c': 20 })
    await quietStatus(weir)
  })
})

describe('how often', () => {
  test('attempts bounds the tries over all backends; the last error is the answer', async () => {
    for (const each of upstreams) each.on(() => failing(503))
    const weir = await start({ backends: inOrder, retry: { attempts: 2 } })
    const response = await ask(weir)
    expect(outcome(response)).toEqual([503, 'upstream_error', '2', 'default/b'])
    expect(response.json()).toEqual(openai.errorBody('broken'))
    expect(counts()).toEqual([1, 1, 0])
    await quietStatus(weir)
  })

  test('attempts: 1 tries once', async () => {
    a.on(() => failing(503))
    const weir = await start({ backends: inOrder, retry: { attempts: 1 } })
    expect(outcome(await ask(weir))).toEqual([503, 'upstream_error', '1', 'default/a'])
    expect(counts()).toEqual([1, 0, 0])
    await quietStatus(weir)
  })

  test('a reset is retried once at most: the servers may have read the request', async () => {
    for (const each of upstreams) each.on(() => [reset()])
    const weir = await start({ backends: inOrder })
    expect(outcome(await ask(weir))).toEqual([502, 'upstream_error', '2', 'default/b'])
    expect(counts()).toEqual([1, 1, 0])
    await quietStatus(weir)
  })

  test('the same backend is tried again when there is no other', async () => {
    a.script(failing(500), failing(502), answered(openai))
    const weir = await start({ backends: ['a'], retry: { backoff: { base: '10ms' } } })
    expect(outcome(await ask(weir))).toEqual([200, undefined, '3', 'default/a'])
    await quietStatus(weir)
  })

  test('tries of the same backend wait as long as it asks, and not at all when that is longer than backoff.max', async () => {
    a.script(failing(503, [['retry-after-ms', '700']]), answered(openai), failing(503, [['retry-after', '3']]))
    const weir = await start({ backends: ['a'], retry: { backoff: { base: '1ms', max: '2s' } } })
    const started = performance.now()
    expect(outcome(await ask(weir))).toEqual([200, undefined, '2', 'default/a'])
    expect(performance.now() - started).toBeGreaterThan(690)
    const response = await ask(weir)
    expect(outcome(response)).toEqual([503, 'upstream_error', '1', 'default/a'])
    expect(response.header('retry-after')).toBe('3')
    expect(counts()).toEqual([3, 0, 0])
    await quietStatus(weir)
  })

  test('another backend does not wait for what the first one asks', async () => {
    a.script(failing(503, [['retry-after', '60']]))
    b.script(answered(openai))
    const weir = await start({ backends: inOrder, retry: { backoff: { base: '30s', max: '60s' } } })
    expect(outcome(await ask(weir))).toEqual([200, undefined, '2', 'default/b'])
    await quietStatus(weir)
  })

  test('the budget of one backend bounds its retries: a fifth of its live requests', async () => {
    const gate = new Gate()
    a.on(() => [wait(gate), failing(503, [['retry-after-ms', '500']])])
    const weir = await start({ backends: ['a'], retry: { attempts: 2 } })
    const responses = Array.from({ length: 40 }, () => ask(weir))
    await a.request(39)
    gate.open()
    const attempts = (await Promise.all(responses)).map(each => each.header('x-weir-attempts'))
    const retried = attempts.filter(each => each === '2').length
    expect(retried).toBeGreaterThanOrEqual(3)
    expect(retried).toBeLessThanOrEqual(8)
    expect(a.requests).toHaveLength(40 + retried)
    await quietStatus(weir)
  })
})

describe('after what', () => {
  test('only the named codes are retried', async () => {
    a.script(failing(503), failing(418))
    b.script(answered(openai))
    const weir = await start({ backends: inOrder, retry: { codes: [418] } })
    expect(outcome(await ask(weir))).toEqual([503, 'upstream_error', '1', 'default/a'])
    expect(outcome(await ask(weir))).toEqual([200, undefined, '2', 'default/b'])
    expect(counts()).toEqual([2, 1, 0])
    await quietStatus(weir)
  })

  test("a client's own mistake is not retried", async () => {
    a.on(() => failing(400))
    const weir = await start({ backends: inOrder })
    expect(outcome(await ask(weir))).toEqual([400, 'upstream_error', '1', 'default/a'])
    expect(counts()).toEqual([1, 0, 0])
    await quietStatus(weir)
  })

  test('only the named failures are retried', async () => {
    a.script([reset()], [write(jsonResponse(200, 'oops'))])
    b.script(answered(openai))
    const weir = await start({ backends: inOrder, retry: { failures: ['BadResponse'] } })
    expect(outcome(await ask(weir))).toEqual([502, 'upstream_error', '1', 'default/a'])
    expect(outcome(await ask(weir))).toEqual([200, undefined, '2', 'default/b'])
    expect(counts()).toEqual([2, 1, 0])
    await quietStatus(weir)
  })

  test('a timeout is not retried unless the route asks for it, for both tries may be billed', async () => {
    a.on(() => [stall()])
    b.on(() => answered(openai))
    const weir = await start({ backends: inOrder })
    const late = await ask(weir, { stream: true })
    expect(outcome(late)).toEqual([504, 'upstream_timeout', '1', 'default/a'])
    expect(endOf(openai, late)).toBe('error answer')
    expect(counts()).toEqual([1, 0, 0])

    const documents = ['a', 'b'].map((name, i) =>
      backendYaml({ name, url: upstreams[i]!.url, timeouts: { total: '300ms' } }),
    )
    const route = routeYaml({ name: 'chat', backends: inOrder.slice(0, 2), retry: { failures: ['Timeout'] } })
    await weir.edit('weir.yaml', yamlFile(...documents, route))
    await weir.waitForApplied()
    expect(outcome(await ask(weir))).toEqual([200, undefined, '2', 'default/b'])
    await quietStatus(weir)
  })

  test('a credential that is refused: the same backend with another one first', async () => {
    const key = (name: string, weight: number) => ({
      name,
      type: 'APIKey' as const,
      apiKey: { secretRef: { name, key: 'key' } },
      weight,
    })
    const backends = [
      backendYaml({ name: 'a', url: a.url, credentials: [key('used', 1), key('spare', 0)] }),
      backendYaml({ name: 'b', url: b.url }),
    ]
    const secrets = ['used', 'spare'].map(name => secretYaml({ name, value: `sk-${name}` }))
    const route = routeYaml({ name: 'chat', backends: ['a', { name: 'b', priority: 1 }] })
    const weir = await startWeir({ files: { 'weir.yaml': yamlFile(...backends, ...secrets, route) } })
    for (const status of [401, 403, 429]) {
      a.script(failing(status), answered(openai))
      expect(outcome(await ask(weir))).toEqual([200, undefined, '2', 'default/a'])
    }
    const keys = a.requests.map(request => request.header('authorization'))
    expect(keys).toEqual(['used', 'spare', 'used', 'spare', 'used', 'spare'].map(name => `Bearer sk-${name}`))

    a.script(failing(401), failing(401))
    b.script(answered(openai))
    expect(outcome(await ask(weir))).toEqual([200, undefined, '3', 'default/b'])
    await quietStatus(weir)
  })

  test('the only credential is refused: no try goes without one, and the caller is not blamed', async () => {
    const secret = secretYaml({ name: 'only', value: 'sk-only' })
    const backend = backendYaml({ name: 'a', url: a.url, secret: 'only' })
    const weir = await startWeir({
      files: { 'weir.yaml': yamlFile(backend, secret, routeYaml({ name: 'chat', backends: ['a'] })) },
    })
    a.script(failing(401))
    const refused = await ask(weir)
    expect(outcome(refused)).toEqual([502, 'upstream_error', '1', 'default/a'])
    expect(refused.text).toContain("refused the gateway's credential")
    // One that was used too often may be used again, later.
    a.script(failing(429), answered(openai))
    expect(outcome(await ask(weir))).toEqual([200, undefined, '2', 'default/a'])
    expect(a.requests.map(request => request.header('authorization'))).toEqual(Array(3).fill('Bearer sk-only'))
    await quietStatus(weir)
  })
})
