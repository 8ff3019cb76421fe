import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonResponse } from '../fakes/bytes.ts'
import { Gate } from '../fakes/gate.ts'
import { rawClient, rawRequest } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { stall, wait, write } from '../fakes/steps.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../fakes/upstream.ts'
import { eventually, within } from '../kit/patience.ts'
import { quietStatus } from '../kit/quiet.ts'
import { type BackendParts, backendYaml, type RouteParts, routeYaml, yamlFile } from '../kit/resources.ts'
import { startWeir, type Weir } from '../kit/weir.ts'
import { heldStream, openStreams, stuckStream } from './held-streams.ts'
import { Load } from './load.ts'
import { answered, DIALECTS, endOf, type WireDialect } from './wire-dialect.ts'

const [openai, anthropic] = DIALECTS as [WireDialect, WireDialect]
const STREAMS = 50

let old: ScriptedUpstream
let fresh: ScriptedUpstream
beforeEach(async () => {
  old = await scriptedUpstream()
  fresh = await scriptedUpstream()
})
afterEach(async () => {
  await old.close()
  await fresh.close()
})

const backend = (name: string, { url }: { url: string }, rest: Partial<BackendParts> = {}) =>
  backendYaml({ name, url, ...rest })
const route = (to: string, rest: Partial<RouteParts> = {}) => routeYaml({ name: 'chat', backends: [to], ...rest })

/** Puts the documents in place of all others and waits until they serve. */
async function replace(weir: Weir, ...documents: string[]): Promise<void> {
  await weir.edit('weir.yaml', yamlFile(...documents))
  await weir.waitForApplied()
}

const start = (...documents: string[]) => startWeir({ files: { 'weir.yaml': yamlFile(...documents) } })

async function stateOf(weir: Weir, name: string) {
  return (await weir.status()).backends.find(each => each.name === name)
}

/** Sends requests one after the other; all are served by `by`. */
async function expectServed(weir: Weir, dialect: WireDialect, by: string, count = 10): Promise<void> {
  for (let i = 0; i < count; i++) {
    const response = await rawRequest(weir.url, dialect.ask())
    expect([endOf(dialect, response), response.header('x-weir-backend')]).toEqual(['complete', `default/${by}`])
  }
}

async function expectAllComplete(streams: RawResponse[], dialect: WireDialect, by: string): Promise<void> {
  await within(Promise.all(streams.map(({ done }) => done)), 10_000, 'the end of the streams')
  const ends = new Set(streams.map(each => `${endOf(dialect, each)} by ${each.header('x-weir-backend')}`))
  expect([...ends]).toEqual([`complete by default/${by}`])
}

describe.each(DIALECTS)('under 50 streams, $name', dialect => {
  const { provider } = dialect
  const begin = async () => {
    const gate = new Gate()
    old.on(() => heldStream(dialect, gate))
    fresh.on(() => answered(dialect))
    const weir = await start(backend('old', old, { provider }), backend('fresh', fresh, { provider }), route('old'))
    return { weir, gate, streams: await openStreams(weir.url, dialect, STREAMS) }
  }

  test('a route edited to another backend: streams finish on the old one, new requests go to the new one', async () => {
    const { weir, gate, streams } = await begin()
    await replace(weir, backend('old', old, { provider }), backend('fresh', fresh, { provider }), route('fresh'))
    await expectServed(weir, dialect, 'fresh')
    expect(await stateOf(weir, 'old')).toMatchObject({ state: 'Serving', references: { m: STREAMS } })
    gate.open()
    await expectAllComplete(streams, dialect, 'old')
    expect([old.requests.length, fresh.requests.length]).toEqual([STREAMS, 10])
    await quietStatus(weir)
  })

  test('the document of the old backend removed: the same, and its pool is closed with the last stream', async () => {
    const { weir, gate, streams } = await begin()
    await replace(weir, backend('fresh', fresh, { provider }), route('fresh'))
    await expectServed(weir, dialect, 'fresh')
    expect(await stateOf(weir, 'old')).toMatchObject({ state: 'Draining', references: { m: STREAMS } })
    expect(old.open).toBe(STREAMS)
    gate.open()
    await expectAllComplete(streams, dialect, 'old')
    await eventually(() => old.open === 0)
    expect((await quietStatus(weir)).backends.map(({ name }) => name)).toEqual(['fresh'])
  })

  test('the URL of a backend edited: streams finish at the old address, which is then left', async () => {
    const { weir, gate, streams } = await begin()
    const before = await stateOf(weir, 'old')
    await replace(weir, backend('old', fresh, { provider }), backend('fresh', fresh, { provider }), route('old'))
    await expectServed(weir, dialect, 'old')
    expect(fresh.requests).toHaveLength(10)
    expect(await stateOf(weir, 'old')).toMatchObject({ uid: before?.uid, state: 'Serving', references: { m: STREAMS } })
    gate.open()
    await expectAllComplete(streams, dialect, 'old')
    await eventually(() => old.open === 0)
    await quietStatus(weir)
  })
})

test('200 swaps in a row under constant load: no request fails, no stream is cut', async () => {
  for (const upstream of [old, fresh]) {
    upstream.on(request => {
      const dialect = request.path === '/v1/messages' ? anthropic : openai
      const streamed = (request.json() as { stream?: boolean }).stream
      return streamed ? heldStream(dialect, soon()) : answered(dialect)
    })
  }
  const documents = (i: number) => {
    const both = i % 4 < 2
    const used = i % 2 === 0 ? 'old' : 'fresh'
    const names = both ? (['old', 'fresh'] as const) : ([used] as const)
    const backends = names.flatMap(name => [
      backend(`${name}-openai`, name === 'old' ? old : fresh),
      backend(`${name}-anthropic`, name === 'old' ? old : fresh, { provider: 'Anthropic' }),
    ])
    return [...backends, routeYaml({ name: 'chat', backends: [`${used}-openai`, `${used}-anthropic`] })]
  }
  const weir = await start(...documents(0))
  const lanes = DIALECTS.flatMap(dialect => [
    { dialect, stream: false },
    { dialect, stream: true },
    { dialect, stream: true },
  ])
  const load = new Load(weir.url, lanes)
  for (let i = 1; i <= 200; i++) await replace(weir, ...documents(i))
  await load.stop()
  expect(load.failures).toEqual([])
  expect(weir.generation).toBe(201)
  for (const by of ['old-openai', 'old-anthropic', 'fresh-openai', 'fresh-anthropic']) {
    expect(load.served(`default/${by}`)).toBeGreaterThan(50)
  }
  await quietStatus(weir)
}, 90_000)

/** Opens after a time that makes streams span several swaps. */
function soon(): Gate {
  const gate = new Gate()
  setTimeout(() => gate.open(), 20 + 400 * Math.random())
  return gate
}

describe('drain by hand', () => {
  const drain = (weir: Weir, method: 'POST' | 'DELETE') =>
    fetch(`${weir.adminUrl}/drain/default/old`, { method }).then(response => response.status)

  test('under streams: they finish, new requests are refused, DELETE takes it back', async () => {
    const gate = new Gate()
    old.on(() => heldStream(openai, gate))
    const weir = await start(backend('old', old), route('old'))
    const streams = await openStreams(weir.url, openai, 5)
    expect(await drain(weir, 'POST')).toBe(202)
    expect(await stateOf(weir, 'old')).toMatchObject({ state: 'Draining', references: { m: 5 } })
    const refused = await rawRequest(weir.url, openai.ask())
    expect([refused.status, refused.header('x-weir-code')]).toEqual([503, 'no_backend'])

    expect(await drain(weir, 'DELETE')).toBe(200)
    old.script(answered(openai))
    await expectServed(weir, openai, 'old', 1)
    gate.open()
    await expectAllComplete(streams, openai, 'old')
    expect((await quietStatus(weir)).backends).toMatchObject([{ name: 'old', state: 'Serving' }])
  })

  test('its peer takes the whole share; drained to the end it is closed, and DELETE opens it again', async () => {
    old.on(() => answered(openai))
    fresh.on(() => answered(openai))
    const weir = await start(
      backend('old', old),
      backend('fresh', fresh),
      routeYaml({ name: 'chat', backends: [{ name: 'old', weight: 1000 }, 'fresh'] }),
    )
    await rawRequest(weir.url, openai.ask({ headers: [['x-weir-backend', 'old']] }))
    await drain(weir, 'POST')
    await expectServed(weir, openai, 'fresh')
    await eventually(async () => (await stateOf(weir, 'old'))?.state === 'Closed')
    await eventually(() => old.open === 0)
    await drain(weir, 'DELETE')
    const again = await rawRequest(weir.url, openai.ask({ headers: [['x-weir-backend', 'old']] }))
    expect(endOf(openai, again)).toBe('complete')
    await quietStatus(weir)
  })
})

test.each(DIALECTS)('the deadline of a drain ends a stuck stream with an error event, $name', async dialect => {
  const { provider } = dialect
  old.on(() => stuckStream(dialect))
  fresh.on(() => answered(dialect))
  const weir = await start(backend('old', old, { provider, drain: { timeout: '1s' } }), route('old'))
  const [stuck] = await openStreams(weir.url, dialect, 1)
  await replace(weir, backend('fresh', fresh, { provider }), route('fresh'))
  await expectServed(weir, dialect, 'fresh', 3)
  await within(stuck!.done, 5_000, 'the end of the stuck stream')
  expect(endOf(dialect, stuck!)).toBe('error event')
  expect(stuck!.text).toContain('its drain time is over')
  await within(old.requests[0]!.closed, 1_000, 'the end of the connection upstream')
  const { backends } = await quietStatus(weir)
  expect(backends.map(({ name }) => name)).toEqual(['fresh'])
  expect(await weir.waitForLog(line => line.outcome === 'Failed')).toMatchObject({ code: 'no_backend', status: 200 })
})

test('the deadline of a drain answers a request that has no response yet', async () => {
  old.on(() => [stall()])
  const weir = await start(backend('old', old, { drain: { timeout: '1s' } }), route('old'))
  const waiting = rawRequest(weir.url, openai.ask())
  await old.request(0)
  await replace(weir, backend('fresh', fresh), route('fresh'))
  const response = await waiting
  expect([endOf(openai, response), response.status]).toEqual(['error answer', 503])
  expect(response.header('x-weir-code')).toBe('no_backend')
  await quietStatus(weir)
})

test('a request that is queued when its backend is removed is still served by it', async () => {
  const gate = new Gate()
  old.script([wait(gate), answered(openai)], answered(openai))
  fresh.on(() => answered(openai))
  const patient = { maxWait: '10s' }
  const weir = await start(backend('old', old, { concurrency: { max: 1 } }), route('old', patient))
  const clients = [await rawClient(weir.url), await rawClient(weir.url)]
  for (const [i, client] of clients.entries()) {
    await client.send(openai.ask())
    await eventually(async () => (await weir.status()).load.inFlight === i + 1)
  }
  await eventually(async () => (await weir.status()).load.queued === 1)
  await replace(weir, backend('fresh', fresh), route('fresh', patient))
  await expectServed(weir, openai, 'fresh', 3)
  expect(old.requests).toHaveLength(1)
  gate.open()
  await expectAllComplete(await Promise.all(clients.map(client => client.response())), openai, 'old')
  for (const client of clients) client.close()
  await eventually(() => old.open === 0)
  expect((await quietStatus(weir)).backends.map(({ name }) => name)).toEqual(['fresh'])
})

test('a request that waits for its next try when the route is edited goes to the new backend', async () => {
  old.script([write(jsonResponse(503, openai.errorBody('busy'), [['retry-after', '1']]))])
  fresh.on(() => answered(openai))
  const twice = { retry: { attempts: 2, backoff: { base: '1s', max: '2s' } } }
  const weir = await start(backend('old', old), route('old', twice))
  const waiting = rawRequest(weir.url, openai.ask())
  await old.request(0)
  await replace(weir, backend('fresh', fresh), route('fresh', twice))
  const response = await waiting
  expect([endOf(openai, response), response.header('x-weir-backend')]).toEqual(['complete', 'default/fresh'])
  expect(response.header('x-weir-attempts')).toBe('2')
  expect([old.requests.length, fresh.requests.length]).toEqual([1, 1])
  await quietStatus(weir)
})
