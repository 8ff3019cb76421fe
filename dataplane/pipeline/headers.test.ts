import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backendOf } from '../testdata/objects.ts'
import { downstreamHeaders, upstreamHeaders } from './headers.ts'

const SECRET = ['authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie'] as const

const key = { name: 'k', weight: 1, value: 'provider-key' }

/** Upstream headers by lower-case name, for client headers given as pairs. */
function upstream(pairs: [string, string][], backend = backendOf('b'), credential: typeof key | null = key) {
  const parsed = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]))
  const flat = upstreamHeaders(pairs.flat(), parsed, backend, credential, 'id-1')
  const out: Record<string, string[]> = {}
  for (let i = 0; i < flat.length; i += 2) {
    out[flat[i]!.toLowerCase()] ??= []
    out[flat[i]!.toLowerCase()]!.push(flat[i + 1]!)
  }
  return out
}

const names = fc.constantFrom(
  ...['Authorization', 'PROXY-Authorization', 'X-Api-Key', 'api-key', 'x-goog-api-key', 'Cookie', 'Connection'],
  ...[
    'Keep-Alive',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Host',
    'Content-Length',
    'Expect',
    'X-Weir-Backend',
  ],
  ...['X-Forwarded-For', 'Accept-Encoding', 'OpenAI-Beta', 'anthropic-version', 'X-Custom', 'User-Agent'],
)
const value = fc.constantFrom('v', 'tenant-secret', 'x-custom, close', 'gzip')

test('whatever a client sends: its credentials, cookies and hop-by-hop headers never cross', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(names, value), { maxLength: 12 }), pairs => {
      const out = upstream(pairs)
      expect(out.authorization).toEqual(['Bearer provider-key'])
      for (const name of SECRET.slice(1)) expect(out[name]).toBeUndefined()
      for (const name of ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'host']) {
        expect(out[name]).toBeUndefined()
      }
      for (const name of ['content-length', 'expect', 'x-weir-backend', 'x-forwarded-for']) {
        expect(out[name]).toBeUndefined()
      }
      expect(out['accept-encoding']).toEqual(['identity'])
      expect(out['x-request-id']).toEqual(['id-1'])
    }),
  )
})

test('what Connection names is dropped, what it does not name passes as it was written', () => {
  const out = upstream([
    ['Connection', 'X-S , close'],
    ['X-S', '1'],
    ['X-T', '2'],
  ])
  expect(out['x-s']).toBeUndefined()
  expect(out['x-t']).toEqual(['2'])
  expect(out.connection).toBeUndefined()
})

test('the headers of the backend replace those of the client', () => {
  const backend = backendOf('b', { headers: [{ name: 'X-Org', value: 'acme' }] })
  expect(upstream([['x-org', 'mine']], backend)['x-org']).toEqual(['acme'])
})

test('each provider gets its credential where it looks for it; none is sent where there is none', () => {
  const claude = backendOf('b', { provider: 'Anthropic' })
  expect(upstream([], claude)).toMatchObject({ 'x-api-key': ['provider-key'] })
  expect(upstream([], claude).authorization).toBeUndefined()
  expect(upstream([['Authorization', 'Bearer tenant']], backendOf('b'), null).authorization).toBeUndefined()
})

test('to the client pass the provider’s headers, less those of the connection, cookies and ours', () => {
  const flat = downstreamHeaders({
    'content-type': 'application/json',
    connection: 'x-hop, close',
    'x-hop': '1',
    'transfer-encoding': 'chunked',
    'set-cookie': ['a=1', 'b=2'],
    'alt-svc': 'h3',
    'x-weir-code': 'fake',
    'openai-processing-ms': '7',
    warning: ['1', '2'] as never,
    'x-request-id': 'req_1',
  })
  expect(flat).toEqual([
    ...['content-type', 'application/json', 'openai-processing-ms', '7', 'warning', '1', 'warning', '2'],
    ...['x-weir-upstream-request-id', 'req_1'],
  ])
})
