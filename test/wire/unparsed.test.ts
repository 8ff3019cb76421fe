import { describe, expect, test } from 'vitest'
import { request } from '../fakes/bytes.ts'
import { rawClient } from '../fakes/raw-client.ts'
import { within } from '../kit/patience.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { stuckStream } from './held-streams.ts'
import { stage } from './stage.ts'
import { DIALECTS, endOf } from './wire-dialect.ts'

const s = stage(['provider'], ({ provider }) =>
  yamlFile(
    ...DIALECTS.map(({ name, provider: speaks }) => backendYaml({ name, url: provider, provider: speaks })),
    routeYaml({ name: 'm', backends: DIALECTS.map(({ name }) => name) }),
  ),
)

describe.each(DIALECTS)('what is no HTTP, $name', dialect => {
  test.each([
    ['behind a request', 'NONSENSE\r\n\r\n'],
    ['behind another request', Buffer.concat([dialect.ask(), Buffer.from('NONSENSE\r\n\r\n')])],
  ])('%s whose stream runs cuts the stream: no other answer gets into it', async (_, more) => {
    s.upstreams.provider.on(() => stuckStream(dialect))
    const client = await rawClient(s.weir.url)
    const response = client.next()
    await client.send(dialect.ask({ stream: true }))
    await response.until(({ text }) => text.includes('one'))
    await client.send(more)
    await within(response.done, 5_000, 'the end of the stream')
    expect(endOf(dialect, response)).toBe('cut')
    expect(client.received.toString()).not.toContain('HTTP/1.1 400')
    await within(s.requests('provider')[0]!.closed, 1_000, 'the end of the connection upstream')
    client.close()
  })

  test.each([
    ['a chunk without a size', 'nonsense\r\n'],
    ['a chunk longer than its size', '2\r\n{"model"\r\n'],
  ])('in its body, %s: the error is in the dialect of the request', async (_, body) => {
    const [head] = dialect.ask().toString().split('\r\n\r\n')
    const [start, ...lines] = head!.split('\r\n')
    const headers = lines
      .map(line => line.split(': ') as [string, string])
      .filter(([name]) => name !== 'content-length')
    const client = await rawClient(s.weir.url)
    const path = start!.split(' ')[1]!
    await client.send(request({ path, headers: [...headers, ['transfer-encoding', 'chunked']], body }))
    const response = await client.response()
    expect([endOf(dialect, response), response.status]).toEqual(['error answer', 400])
    expect(response.header('x-weir-code')).toBe('invalid_request')
    expect(response.header('connection')).toBe('close')
    expect(await client.closed).toBe('fin')
  })

  test('a body that ends before its length: an error in the dialect of the request', async () => {
    const ask = dialect.ask()
    const client = await rawClient(s.weir.url)
    await client.send(ask.subarray(0, ask.length - 5))
    client.end()
    const response = await client.response()
    expect([endOf(dialect, response), response.status]).toEqual(['error answer', 400])
    expect(s.requests('provider')).toHaveLength(0)
  })
})
