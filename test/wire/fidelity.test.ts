import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { chunk, jsonResponse, LAST_CHUNK, response, responseHead } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { joined, streamHead } from '../fakes/sse.ts'
import { fin, pause, type Script, splits, write } from '../fakes/steps.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { ANTHROPIC, ask, FORMATS } from './formats.ts'
import { stage } from './stage.ts'

// One upstream plays every provider.
const s = stage(['up'], ({ up }) =>
  yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: dialect, url: up, provider }),
      routeYaml({ name: dialect, models: [dialect], backends: [dialect] }),
    ]),
  ),
)

const ofDialects = describe.each(FORMATS.map(format => [format.dialect, format] as const))
const EVENT_STREAM: Header = ['content-type', 'text/event-stream; charset=utf-8']

/** Sends and returns the answer; `script` is what the upstream does. */
function exchange(bytes: Buffer, script: Script) {
  s.upstreams.up.script(script)
  return rawRequest(s.weir.url, bytes)
}

ofDialects('%s: what the upstream wrote', (_, format) => {
  // Every line ending, a comment, an empty comment, unknown fields, several bytes a character.
  const odd = ': hi\n\n:\n\nid: 7\nretry: 5\n'
  const crlf = format.content('ü \u{1f30a}').replaceAll('\n', '\r\n')
  const body = joined([...format.prelude, odd, format.content('a'), crlf, format.content('z'), ...format.ending])
  const answer = Buffer.from(format.answer)

  const framings: [string, (contentType: Header, bytes: Buffer) => Buffer, Script][] = [
    ['content-length', (type, bytes) => response(200, [type], bytes), []],
    [
      'chunked',
      (type, bytes) =>
        Buffer.concat([
          responseHead(200, [type, ['transfer-encoding', 'chunked']]),
          chunk(bytes.subarray(0, 50)),
          chunk(bytes.subarray(50)),
          Buffer.from(LAST_CHUNK),
        ]),
      [],
    ],
    ['the end of the connection', (type, bytes) => Buffer.concat([responseHead(200, [type]), bytes]), [fin()]],
  ]

  test.each(framings)('arrives byte for byte, framed by %s', async (_name, framed, after) => {
    const whole = await exchange(ask(format, format.dialect), [
      write(framed(['content-type', 'application/json'], answer)),
      after,
    ])
    expect([whole.status, whole.clean, whole.text]).toEqual([200, true, format.answer])

    const streamed = await exchange(ask(format, format.dialect, { stream: true }), [
      write(framed(EVENT_STREAM, body)),
      after,
    ])
    expect([streamed.status, streamed.clean, streamed.text]).toEqual([200, true, body.toString()])
  })

  test.each(framings)('arrives byte for byte, framed by %s and cut at any place', async (_name, framed, after) => {
    const cases: [Buffer, Buffer, Buffer][] = [
      [framed(['content-type', 'application/json'], answer), ask(format, format.dialect), answer],
      [framed(EVENT_STREAM, body), ask(format, format.dialect, { stream: true }), body],
    ]
    for (const [wire, asked, expected] of cases) {
      // From inside the head to the last byte; all at once, or it would take a minute.
      const places = Array.from({ length: wire.length - 20 }, (_, i) => i + 20).filter(i => i % 3 === 0 || i < 150)
      for (const place of places) s.upstreams.up.script([splits(wire, [place], 15), after])
      const answers = await Promise.all(places.map(() => rawRequest(s.weir.url, asked)))
      const wrong = answers.filter(({ body, clean, status }) => !clean || status !== 200 || !body.equals(expected))
      expect(wrong.map(({ text }) => text)).toEqual([])
    }
  })

  test('arrives byte for byte, a byte at a time', async () => {
    const bytes = [...body.subarray(0, 700)].map(byte => write(Buffer.from([byte])))
    const streamed = await exchange(ask(format, format.dialect, { stream: true }), [
      write(responseHead(200, [EVENT_STREAM, ['content-length', String(body.length)]])),
      bytes.flatMap((step, i) => (i % 10 === 0 ? [pause(1), step] : [step])),
      write(body.subarray(700)),
    ])
    expect(streamed.text).toBe(body.toString())
  })

  test('arrives byte for byte when the stream is cut behind its finish reason', async () => {
    const bytes = joined([...format.prelude, format.content('a'), ...format.ending.slice(0, -1)])
    const answer = await exchange(ask(format, format.dialect, { stream: true }), [
      write(responseHead(200, [EVENT_STREAM]), bytes),
      fin(),
    ])
    expect([answer.clean, answer.text]).toEqual([true, bytes.toString()])
  })

  test('passes a document of a megabyte as it comes', async () => {
    const large = format.answer.replace(/,\s*"seed"/, match => `,"padding":"${'ü \\u00fc'.repeat(200_000)}"${match}`)
    const answer = await exchange(ask(format, format.dialect), [write(jsonResponse(200, large))])
    expect(answer.body.equals(Buffer.from(large))).toBe(true)
    expect(answer.ending).toBe('length')
  })

  test('is told by its own content type, in any case, not by what was asked for', async () => {
    const type: Header = ['content-type', 'Text/Event-Stream']
    const streamed = await exchange(ask(format, format.dialect), [write(response(200, [type], body))])
    expect([streamed.status, streamed.text]).toEqual([200, body.toString()])
    const whole = await exchange(ask(format, format.dialect, { stream: true }), [
      write(jsonResponse(200, format.answer)),
    ])
    expect([whole.status, whole.text, whole.header('content-type')]).toEqual([200, format.answer, 'application/json'])
  })

  test('may have headers that are no ASCII', async () => {
    for (const [type, bytes] of [['application/json', answer] as const, ['text/event-stream', body] as const]) {
      const head = `HTTP/1.1 200 OK\r\nx-info: ü \u{1f30a}\r\ncontent-type: ${type}\r\ncontent-length: ${bytes.length}\r\n\r\n`
      const got = await exchange(ask(format, format.dialect), [write(head, bytes)])
      expect(got.body.equals(bytes)).toBe(true)
      expect(got.head.raw.toString()).toContain('x-info: ü \u{1f30a}\r\n')
    }
  })

  test('has its own headers, but none of the connection', async () => {
    const theirs: Header[] = [
      ['OpenAI-Organization', 'org'],
      ['openai-processing-ms', '17'],
      ['X-RateLimit-Remaining-Tokens', '149984'],
      ['anthropic-ratelimit-requests-reset', '2026-01-01T00:00:00Z'],
      ['cf-ray', 'a'],
      ['vary', 'a'],
      ['vary', 'b'],
    ]
    const notOurs: Header[] = [
      ['Connection', 'X-Hop, close'],
      ['X-Hop', '1'],
      ['Keep-Alive', 'timeout=5'],
      ['Proxy-Authenticate', 'Basic'],
      ['Set-Cookie', '__cf_bm=1'],
      ['Alt-Svc', 'h3=":443"'],
      ['Strict-Transport-Security', 'max-age=1'],
      ['X-Weir-Backend', 'forged'],
      ['x-request-id', 'req_theirs'],
    ]
    for (const stream of [false, true]) {
      const bytes = stream
        ? Buffer.concat([responseHead(200, [EVENT_STREAM, ...theirs, ...notOurs]), body])
        : jsonResponse(200, format.answer, [...theirs, ...notOurs])
      const answer = await exchange(ask(format, format.dialect, { stream }), [write(bytes), fin()])
      const names = answer.headers.map(([name]) => name.toLowerCase())
      for (const [name, value] of theirs.slice(0, 5)) expect(answer.header(name)).toBe(value)
      expect(
        answer.headers.flatMap(([name, value]) => (name.toLowerCase() === 'vary' ? value.split(', ') : [])),
      ).toEqual(['a', 'b'])
      for (const name of ['x-hop', 'proxy-authenticate', 'set-cookie', 'alt-svc', 'strict-transport-security']) {
        expect(names).not.toContain(name)
      }
      expect(answer.header('x-weir-backend')).toBe(`default/${format.dialect}`)
      expect(answer.header('x-weir-attempts')).toBe('1')
      expect(answer.header('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(answer.header('x-weir-upstream-request-id')).toBe('req_theirs')
      expect(answer.header('connection')).not.toMatch(/x-hop|close/i)
    }
  })

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)(
    'arrives compressed where it comes so unasked, headers and bytes in step (wire case 15): %s',
    async (encoding, compress) => {
      const headers: Header[] = [['content-encoding', encoding]]
      const bytes = compress(format.answer)
      const asked = ask(format, format.dialect, {}, [['accept-encoding', 'gzip, br']])
      const whole = await exchange(asked, [write(response(200, headers, bytes))])
      expect(whole.body.equals(bytes)).toBe(true)
      expect(whole.header('content-encoding')).toBe(encoding)
      expect(whole.header('content-length')).toBe(String(bytes.length))
      expect(s.requests('up')[0]!.header('accept-encoding')).toBe('identity')

      const compressed = compress(body)
      const streamed = await exchange(
        ask(format, format.dialect, { stream: true }, [['accept-encoding', 'gzip, br']]),
        [write(streamHead(headers)), write(chunk(compressed)), write(LAST_CHUNK)],
      )
      expect(streamed.header('content-encoding')).toBe(encoding)
      expect(streamed.body.equals(compressed)).toBe(true)
      expect(streamed.clean).toBe(true)
      if (encoding === 'gzip') expect(gunzipSync(streamed.body).equals(body)).toBe(true)
    },
  )
})

test('wire case 26: a native Anthropic stream arrives unchanged, with its event lines, pings and input tokens', async () => {
  const events = ANTHROPIC.stream(['Hello', ' there'])
  events.splice(4, 0, 'event: ping\ndata: {"type": "ping"}\n\n')
  const answer = await exchange(ask(ANTHROPIC, 'anthropic', { stream: true }), [
    write(streamHead()),
    ...events.map(event => write(chunk(event))),
    write(LAST_CHUNK),
  ])
  expect(answer.text).toBe(joined(events).toString())
  expect(await s.weir.waitForLog(line => line.requestId === answer.header('x-request-id')!)).toMatchObject({
    tokensIn: 3,
    tokensOut: 2,
  })
})
