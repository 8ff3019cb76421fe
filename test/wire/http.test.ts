import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { chunk, jsonResponse, request } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { type RawClient, rawClient, rawRequest } from '../fakes/raw-client.ts'
import { write } from '../fakes/steps.ts'
import { eventually, within } from '../kit/patience.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { expectError, expectRetryAfter } from './error-shape.ts'
import { ANTHROPIC, ask, FORMATS, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

const LIMIT = 16 * 1024 * 1024
const BUDGET = 256 * 1024 * 1024

const s = stage(['up'], ({ up }) =>
  yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: dialect, url: up, provider }),
      routeYaml({ name: dialect, models: [dialect], backends: [dialect] }),
    ]),
  ),
)

/** Runs `use` with a connection of its own. */
async function connected<T>(use: (client: RawClient) => Promise<T>): Promise<T> {
  const client = await rawClient(s.weir.url)
  try {
    return await use(client)
  } finally {
    client.close()
  }
}

/** Body of exactly `bytes` bytes. */
function bodyOf(model: string, bytes: number): Buffer {
  const start = `{"model":"${model}","text":"`
  return Buffer.from(`${start}${'x'.repeat(bytes - start.length - 2)}"}`)
}

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const head = (...headers: Header[]) => request({ path: format.path, headers })
  const length = (bytes: number): Header => ['content-length', String(bytes)]
  const upload = (bytes: number) => request({ path: format.path, body: bodyOf(dialect, bytes) })
  const good = [write(jsonResponse(200, format.answer))]

  test('wire case 18: a body of exactly the limit passes', async () => {
    s.upstreams.up.script(good)
    expect((await rawRequest(s.weir.url, upload(LIMIT))).status).toBe(200)
    expect(s.requests('up')[0]!.body).toHaveLength(LIMIT)
  })

  test('wire case 18: a byte more is 413, before any of the body was sent', () =>
    connected(async client => {
      await client.send(head(length(LIMIT + 1)))
      expectError(await client.response(), format, 'request_too_large', { message: /16 MiB/ })
      expect(s.requests('up')).toHaveLength(0)
    }))

  test('wire case 18: a byte more in chunks is 413, before the body has ended', () =>
    connected(async client => {
      await client.send(head(['transfer-encoding', 'chunked']), chunk(bodyOf(dialect, LIMIT + 1)))
      expectError(await client.response(), format, 'request_too_large', { message: /16 MiB/ })
      expect(s.requests('up')).toHaveLength(0)
    }))

  test('a body over the limit that is sent all the same leaves the 413 readable', async () => {
    const answer = await rawRequest(s.weir.url, upload(LIMIT + 1024 * 1024))
    expectError(answer, format, 'request_too_large')
  })

  test('Expect: 100-continue is answered with 100, then the answer', () =>
    connected(async client => {
      const body = bodyOf(dialect, 1024)
      s.upstreams.up.script(good)
      const answer = client.next()
      await client.send(head(['expect', '100-continue'], length(body.length)))
      await eventually(() => answer.informational.length === 1)
      expect(answer.informational[0]!.status).toBe(100)
      await client.send(body)
      expect((await answer.done).status).toBe(200)
      expect(s.requests('up')[0]!.header('expect')).toBeUndefined()
    }))

  test('Expect: 100-continue with a body over the limit is 413 without a 100, and the connection ends', () =>
    connected(async client => {
      await client.send(head(['expect', '100-continue'], length(LIMIT + 1)))
      const answer = await client.response()
      expectError(answer, format, 'request_too_large')
      expect(answer.informational).toEqual([])
      expect(answer.header('connection')).toBe('close')
      expect(await within(client.closed, 5_000, 'the end of the connection')).not.toBe('self')
    }))

  test('when the budget for bodies is spent, the next one is refused at once, unread', async () => {
    const uploads = await Promise.all(Array.from({ length: BUDGET / LIMIT }, () => rawClient(s.weir.url)))
    try {
      for (const upload of uploads) await upload.send(head(length(LIMIT)))
      await eventually(async () => (await s.weir.status()).load.bodyBytes === BUDGET)
      await connected(async client => {
        await client.send(head(length(1000)))
        const answer = await client.response()
        expectError(answer, format, 'body_budget_exhausted')
        expectRetryAfter(answer, [1000, 1100])
        await client.send(bodyOf(dialect, 1000))
        await client.send(head(['transfer-encoding', 'chunked']), chunk(bodyOf(dialect, 100)))
        expectError(await client.response(), format, 'body_budget_exhausted')
      })
      uploads.pop()!.abort()
      await eventually(async () => (await s.weir.status()).load.bodyBytes === BUDGET - LIMIT)
      s.upstreams.up.script(good)
      expect((await rawRequest(s.weir.url, ask(format, dialect))).status).toBe(200)
    } finally {
      for (const upload of uploads) upload.close()
    }
  })

  test('a body that is announced while the budget is spent gets no 100', async () => {
    const uploads = await Promise.all(Array.from({ length: BUDGET / LIMIT }, () => rawClient(s.weir.url)))
    for (const each of uploads) await each.send(head(length(LIMIT)))
    await eventually(async () => (await s.weir.status()).load.bodyBytes === BUDGET)
    await connected(async client => {
      await client.send(head(['expect', '100-continue'], length(1000)))
      const answer = await client.response()
      expectError(answer, format, 'body_budget_exhausted')
      expect(answer.informational).toEqual([])
    })
    for (const each of uploads) each.close()
  })

  test('a compressed body is 415', async () => {
    const bytes = request({
      path: format.path,
      headers: [['content-encoding', 'gzip']],
      body: gzipSync(`{"model":"${dialect}"}`),
    })
    const answer = await rawRequest(s.weir.url, bytes)
    expectError(answer, format, 'invalid_request', { status: 415, message: /without Content-Encoding.*gzip/ })
    expect(s.requests('up')).toHaveLength(0)
  })

  test('a path that cannot be decoded is 400', async () => {
    for (const path of [`${format.path}%zz`, '/v1/models/%zz']) {
      const headers: Header[] = format === ANTHROPIC ? [['anthropic-version', '2023-06-01']] : []
      const answer = await rawRequest(s.weir.url, request({ method: 'GET', path, headers }))
      expectError(answer, format, 'invalid_request', { message: /not a valid url/ })
    }
  })

  test('a client that goes away in the middle of its body is forgotten', async () => {
    await connected(async client => {
      await client.send(head(length(5000)), 'half')
      await eventually(async () => (await s.weir.status()).load.bodyBytes === 5000)
      client.abort()
    })
    expect(s.requests('up')).toHaveLength(0)
  })

  test('a WebSocket upgrade is 501, not to be retried', () =>
    connected(async client => {
      const headers: Header[] = [
        ['Connection', 'Upgrade'],
        ['Upgrade', 'websocket'],
        ['Sec-WebSocket-Version', '13'],
        ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
      ]
      await client.send(request({ method: 'GET', path: `${format.path}?model=x`, headers }))
      const answer = await client.response({ method: 'GET' })
      expectError(answer, format, 'not_implemented', { message: /WebSocket/ })
      expect(answer.header('x-should-retry')).toBe('false')
      expect(await within(client.closed, 5_000, 'the end of the connection')).toBe('fin')
    }))

  test('an offer of HTTP/2, as the HTTP client of Java makes it, is no reason to refuse', async () => {
    s.upstreams.up.script(good)
    const answer = await rawRequest(
      s.weir.url,
      ask(format, dialect, {}, [
        ['Connection', 'Upgrade, HTTP2-Settings'],
        ['Upgrade', 'h2c'],
        ['HTTP2-Settings', 'AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA'],
      ]),
    )
    expect([answer.status, answer.text]).toEqual([200, format.answer])
    expect(s.requests('up')[0]!.raw.toString()).not.toMatch(/upgrade|http2-settings|h2c/i)
  })

  test('requests that are pipelined are answered in order', () =>
    connected(async client => {
      s.upstreams.up.on(seen => [write(jsonResponse(200, `{"n":${(seen.json() as { n: number }).n}}`))])
      await client.send(...[1, 2, 3].map(n => ask(format, dialect, { n })))
      const answers = [client.next(), client.next(), client.next()]
      expect(await Promise.all(answers.map(async answer => (await answer.done).text))).toEqual([
        '{"n":1}',
        '{"n":2}',
        '{"n":3}',
      ])
    }))
})

describe('what is no HTTP', () => {
  test.each([
    ['no request line', 'HELLO\r\n\r\n', 400, 'invalid_request'],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00', 400, 'invalid_request'],
    ['HTTP/2 without an upgrade', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
    ['a header without a colon', 'POST / HTTP/1.1\r\nhost: a\r\nnonsense\r\n\r\n', 400, 'invalid_request'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'a length and chunks',
      'POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
      'invalid_request',
    ],
    ['headers of 70 KB', `POST / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ])('%s gets an error as JSON, and the connection ends', async (_, wire, status, code) => {
    await connected(async client => {
      await client.send(wire)
      const answer = await client.response()
      expectError(answer, OPENAI, code, { status })
      expect(await within(client.closed, 5_000, 'the end of the connection')).not.toBe('self')
    })
    expect(s.requests('up')).toHaveLength(0)
  })

  test('a body whose chunks are broken ends the request', async () => {
    await connected(async client => {
      await client.send(
        request({ path: ANTHROPIC.path, headers: [['transfer-encoding', 'chunked']], body: '5\r\nhello\r\nzz\r\n' }),
      )
      await within(client.closed, 5_000, 'the end of the connection')
      expect(client.received.toString()).toMatch(/^HTTP\/1\.1 400 /)
    })
    expect(s.requests('up')).toHaveLength(0)
  })

  test('no host is 400, and the connection ends', () =>
    connected(async client => {
      await client.send('POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 0\r\n\r\n')
      expect((await client.response()).status).toBe(400)
      expect(await within(client.closed, 5_000, 'the end of the connection')).not.toBe('self')
    }))

  test('headers of 60 KB pass', async () => {
    s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))])
    const large: Header = ['x-large', 'y'.repeat(60_000)]
    expect((await rawRequest(s.weir.url, ask(OPENAI, 'openai', {}, [large]))).status).toBe(200)
    expect(s.requests('up')[0]!.header('x-large')).toHaveLength(60_000)
  })

  test('garbage behind a request does not harm the request', () =>
    connected(async client => {
      s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))])
      await client.send(ask(OPENAI, 'openai'))
      expect((await client.response()).status).toBe(200)
      await client.send('GARBAGE\r\n\r\n')
      expect((await client.response()).status).toBe(400)
    }))

  test('the last chunk may bring trailers, which are not passed on', async () => {
    s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))])
    const body = `${chunk('{"model":"openai"}')}0\r\nx-secret: 1\r\n\r\n`
    const bytes = request({ path: OPENAI.path, headers: [['transfer-encoding', 'chunked']], body })
    expect((await rawRequest(s.weir.url, bytes)).status).toBe(200)
    expect(s.requests('up')[0]!.body.toString()).toBe('{"model":"openai"}')
    expect(s.requests('up')[0]!.raw.toString()).not.toContain('x-secret')
  })
})

test('a request of HTTP/1.0 is answered and its connection ends', async () => {
  s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))])
  const body = '{"model":"openai"}'
  await connected(async client => {
    await client.send(`POST ${OPENAI.path} HTTP/1.0\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    expect((await client.response()).text).toBe(OPENAI.answer)
    expect(await within(client.closed, 5_000, 'the end of the connection')).toBe('fin')
  })
})
