import { describe, expect, test } from 'vitest'
import { jsonResponse, response } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { joined } from '../fakes/sse.ts'
import { write } from '../fakes/steps.ts'
import { backendYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from '../kit/resources.ts'
import { expectError } from './error-shape.ts'
import { ANTHROPIC, ask, FORMATS, type Format, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

const credential = (name: string, weight: number) =>
  ({ name, type: 'APIKey', weight, apiKey: { secretRef: { name, key: 'key' } } }) as const

const s = stage(['up', 'other'], ({ up, other }) =>
  yamlFile(
    secretYaml({ name: 'team', value: 'tenant-key' }),
    secretYaml({ name: 'first', value: 'provider-key-1' }),
    secretYaml({ name: 'second', value: 'provider-key-2' }),
    tenantYaml({ name: 'team', secrets: ['team'] }),
    ...FORMATS.flatMap(({ dialect, provider }) => [
      // A weight of 0 is for failures of the others, so the order is certain.
      backendYaml({ name: `${dialect}-one`, url: up, provider, secret: 'first' }),
      backendYaml({
        name: `${dialect}-two`,
        url: up,
        provider,
        credentials: [credential('first', 1), credential('second', 0)],
      }),
      backendYaml({ name: `${dialect}-open`, url: up, provider }),
      backendYaml({ name: `${dialect}-other`, url: other, provider, secret: 'second' }),
      ...['one', 'two', 'open'].map(kind =>
        routeYaml({
          name: `${dialect}-${kind}`,
          models: [`${dialect}-${kind}`],
          backends: [`${dialect}-${kind}`],
          retry: { codes: [] },
        }),
      ),
      routeYaml({ name: `${dialect}-again`, models: [`${dialect}-again`], backends: [`${dialect}-two`] }),
      routeYaml({
        name: `${dialect}-over`,
        models: [`${dialect}-over`],
        backends: [`${dialect}-two`, { name: `${dialect}-other`, priority: 1 }],
        retry: { attempts: 5 },
      }),
    ]),
  ),
)

const TENANT: Header = ['authorization', 'Bearer tenant-key']
const keySent = (format: Format, name: 'up' | 'other' = 'up') =>
  s.requests(name).map(seen => seen.header(format === OPENAI ? 'authorization' : 'x-api-key')?.replace('Bearer ', ''))

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const good = [write(jsonResponse(200, format.answer))]
  const refused = (status: number, headers: Header[] = []) => [
    write(jsonResponse(status, format.error('authentication_error', 'provider-key-1 is wrong', 'invalid'), headers)),
  ]
  const send = (model: string, more: object = {}) =>
    rawRequest(s.weir.url, ask(format, `${dialect}-${model}`, more, [TENANT]))

  test.each<[string, Header]>([
    ['authorization', TENANT],
    ['x-api-key', ['X-Api-Key', 'tenant-key']],
    ['api-key', ['Api-Key', 'tenant-key']],
    ['x-goog-api-key', ['X-Goog-Api-Key', 'tenant-key']],
  ])("wire case 17: of the credentials only the provider's arrives upstream; the caller's in %s", async (_, key) => {
    s.upstreams.up.script(good)
    const hop: Header[] = [
      ['Proxy-Authorization', 'Basic hop-secret'],
      ['Connection', 'x-s'],
      ['X-S', '1'],
      ['Cookie', 'session=cookie-secret'],
    ]
    expect((await rawRequest(s.weir.url, ask(format, `${dialect}-one`, {}, [key, ...hop]))).status).toBe(200)
    const [seen] = s.requests('up')
    const names = seen!.headers.map(([name]) => name.toLowerCase())
    const [own, others] =
      format === OPENAI
        ? ['authorization', ['x-api-key', 'api-key', 'x-goog-api-key']]
        : ['x-api-key', ['authorization', 'api-key', 'x-goog-api-key']]
    expect(seen!.header(own)).toBe(format === OPENAI ? 'Bearer provider-key-1' : 'provider-key-1')
    for (const name of [...others, 'proxy-authorization', 'cookie', 'x-s']) expect(names).not.toContain(name)
    expect(seen!.raw.toString()).not.toMatch(/tenant-key|hop-secret|cookie-secret/)
  })

  test('a backend without credentials gets none', async () => {
    s.upstreams.up.script(good)
    expect((await send('open')).status).toBe(200)
    expect(s.requests('up')[0]!.raw.toString()).not.toMatch(/authorization|key/i)
  })

  test.each([401, 403])("a %i about the gateway's credential is not shown as the caller's", async status => {
    for (const stream of [false, true]) {
      s.upstreams.up.script(refused(status, [['www-authenticate', 'Bearer']]))
      const answer = await send('one', { stream })
      expectError(answer, format, 'upstream_error', {
        message: /refused the gateway's credential.*Your own key is fine/,
      })
      expect(answer.head.raw.toString() + answer.text).not.toMatch(/provider-key|www-authenticate/i)
    }
    expect(keySent(format)).toEqual(['provider-key-1', 'provider-key-1'])
  })

  test('a 401 of a backend that is sent no credential is its own answer', async () => {
    s.upstreams.up.script(refused(401))
    expect((await send('open')).status).toBe(401)
  })

  test.each([401, 403, 429])('a %i on one credential goes to the next one of the same backend', async status => {
    for (const stream of [false, true]) {
      const events = joined(format.stream(['a']))
      s.upstreams.up.script(
        refused(status),
        stream ? [write(response(200, [['content-type', 'text/event-stream']], events))] : good,
      )
      const answer = await send('two', { stream })
      expect([answer.status, answer.header('x-weir-attempts')]).toEqual([200, '2'])
      expect(answer.text).toBe(stream ? events.toString() : format.answer)
    }
    expect(keySent(format)).toEqual(['provider-key-1', 'provider-key-2', 'provider-key-1', 'provider-key-2'])
  })

  test('when every credential is refused, the next backend serves', async () => {
    s.upstreams.up.script(refused(429), refused(429))
    s.upstreams.other.script(good)
    const answer = await send('over')
    expect([answer.status, answer.header('x-weir-attempts'), answer.text]).toEqual([200, '3', format.answer])
    expect([keySent(format), keySent(format, 'other')]).toEqual([
      ['provider-key-1', 'provider-key-2'],
      ['provider-key-2'],
    ])
  })

  test('a retry after every credential was refused carries a credential again', async () => {
    s.upstreams.up.script(refused(429), refused(429), good)
    const answer = await send('again')
    expect([answer.status, answer.header('x-weir-attempts')]).toEqual([200, '3'])
    expect(keySent(format)).toEqual(['provider-key-1', 'provider-key-2', 'provider-key-1'])
  })

  test("when every credential is refused and nobody else is there, the last one's error is told", async () => {
    s.upstreams.up.script(refused(401), [
      write(jsonResponse(429, format.error('rate_limit_error', 'slow down', 'slow'), [['retry-after', '7']])),
    ])
    const answer = await send('two')
    expect([answer.status, answer.header('retry-after'), answer.text]).toEqual([
      429,
      '7',
      format.error('rate_limit_error', 'slow down', 'slow'),
    ])
    expect(keySent(format)).toEqual(['provider-key-1', 'provider-key-2'])
  })

  test("wire case 14: a caller's own fault counts against no credential", async () => {
    for (const _time of [1, 2, 3]) {
      s.upstreams.up.script([write(jsonResponse(400, format.error('invalid_request_error', 'bad body')))])
      expect((await send('two')).status).toBe(400)
    }
    s.upstreams.up.script(good)
    expect((await send('two')).status).toBe(200)
    expect(keySent(format)).toEqual(Array(4).fill('provider-key-1'))
  })
})

test('of several keys the one in the own header of the dialect counts', async () => {
  const keys: Header[] = [TENANT, ['x-api-key', 'wrong']]
  s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))])
  expect((await rawRequest(s.weir.url, ask(OPENAI, 'openai-one', {}, keys))).status).toBe(200)
  expectError(await rawRequest(s.weir.url, ask(ANTHROPIC, 'anthropic-one', {}, keys)), ANTHROPIC, 'invalid_api_key')
})
