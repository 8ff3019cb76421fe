import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { chunk, jsonRequest, jsonResponse, LAST_CHUNK, request, response, responseHead } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { joined, streamHead } from '../fakes/sse.ts'
import { fin, pause, type Script, splits, write } from '../fakes/steps.ts'
import { backendYaml, routeYaml, secretYaml, yamlFile } from '../kit/resources.ts'
import { ANTHROPIC, ask, FORMATS, type Format, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

// One upstream plays every provider. The model `openai` is passed as it is, `openai-renamed` under another name.
const RENAMED = 'ft:"upstream"/ü'
const s = stage(['up'], ({ up }) =>
  yamlFile(
    secretYaml({ name: 'provider', value: 'provider-key' }),
    backendYaml({
      name: 'openai',
      url: `${up}/v1`,
      secret: 'provider',
      headers: [{ name: 'OpenAI-Project', value: 'weir' }],
    }),
    backendYaml({ name: 'anthropic', url: up, secret: 'provider', provider: 'Anthropic' }),
    ...FORMATS.flatMap(({ dialect }) => [
      routeYaml({ name: dialect, models: [dialect], backends: [dialect] }),
      routeYaml({
        name: `${dialect}-renamed`,
        models: [`${dialect}-renamed`],
        backends: [{ name: dialect, model: RENAMED }],
      }),
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

/** The body as the upstream got it. */
const passed = () => s.requests('up').at(-1)!.body.toString()

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

  test('keeps every digit, both ways (wire case 22)', async () => {
    const numbers = '"seed":9007199254740993,"temperature":1.10,"top_p":1E-2,"logit_bias":{"1":-0.0}'
    const body = `{"model":"${format.dialect}",${numbers}}`
    const { text } = await exchange(jsonRequest(format.path, body), [write(jsonResponse(200, format.answer))])
    expect(passed()).toBe(body)
    expect(text).toContain('"seed":9007199254740993, "n":1.10')
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

ofDialects('%s: what the client wrote', (_, format) => {
  const send = (body: string, path = format.path, headers: Header[] = []) =>
    exchange(jsonRequest(path, body, headers), [write(jsonResponse(200, format.answer))])

  test('arrives byte for byte but for the value of the model, each time the same (wire case 20)', async () => {
    const odd = ['{"z":1,"model":"m","a":{"y":1,"b":2}}', ' {\n"z" : 1.0 ,\t"model" :\r\n"m" , "a":{"y":1,"b":2} } \n']
    for (const body of odd) {
      for (const _time of [1, 2]) {
        await send(body.replace('"m"', `"${format.dialect}-renamed"`))
        expect(passed()).toBe(body.replace('"m"', JSON.stringify(RENAMED)))
      }
      const own = body.replace('"m"', `"${format.dialect}"`)
      await send(own)
      expect(passed()).toBe(own)
    }
  })

  test('keeps fields that nobody knows (wire case 21)', async () => {
    const body = `{"model":"${format.dialect}","enable_thinking":false,"x":{"k":1},"__proto__":{"a":1},"":null}`
    await send(body)
    expect(passed()).toBe(body)
  })

  test.each([
    ['an escaped key', '{"mod\\u0065l":"M"}'],
    [
      'models that are nested',
      '{"messages":[{"model":"inner"}],"metadata":{"model":"x","a":[{"model":"M"}]},"model":"M"}',
    ],
    ['a model inside a string', '{"user":"\\"model\\":\\"x\\",","model":"M","z":"\\\\"}'],
    ['the model after a string that ends in a backslash', '{"a":"\\\\","b":"\\\\\\"","model":"M"}'],
    ['several bytes a character before it', '{"a":"ü\u{1f30a}","model":"M"}'],
  ])('has the model found and exchanged alone: %s', async (_name, body) => {
    await send(body.replace(/"M"(?!.*"M")/, `"${format.dialect}-renamed"`))
    expect(passed()).toBe(body.replace(/"M"(?!.*"M")/, JSON.stringify(RENAMED)))
  })

  test('may name the model with escapes', async () => {
    const escaped = `"\\u00${format.dialect.charCodeAt(0).toString(16)}${format.dialect.slice(1)}"`
    await send(`{"model":${escaped}}`)
    expect(passed()).toBe(`{"model":${escaped}}`)
  })

  test.each([
    ['twice', '{"model":"allowed","model":"other"}', 'model'],
    ['twice, once with an escape', '{"model":"allowed","mod\\u0065l":"other"}', 'model'],
    ['with another capital', '{"model":"allowed","Model":"other"}', 'model'],
    ['and stream twice', '{"model":"allowed","stream":false,"stream":true}', 'stream'],
  ])('is refused where parsers would disagree: model %s', async (_name, body, param) => {
    const answer = await rawRequest(s.weir.url, jsonRequest(format.path, body))
    expect([answer.status, answer.header('x-weir-code')]).toEqual([400, 'invalid_request'])
    const { error } = answer.json() as { error: { message: string; param?: string } }
    expect(error.message).toMatch(/twice|could be taken for/)
    if (format === OPENAI) expect(error.param).toBe(param)
    expect(s.requests('up')).toHaveLength(0)
  })

  test('has its headers, but none of the connection and none that belong to the gateway', async () => {
    await send(JSON.stringify({ model: format.dialect }), format.path, [
      ['User-Agent', 'SDK/1'],
      ['anthropic-version', '2023-06-01'],
      ['anthropic-beta', 'a'],
      ['Anthropic-Beta', 'b'],
      ['X-Stainless-Lang', 'js'],
      ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
      ['OpenAI-Project', 'mine'],
      ['TE', 'trailers'],
      ['Connection', 'keep-alive, X-Hop'],
      ['X-Hop', '1'],
      ['X-Weir-Backend', format.dialect],
      ['X-Forwarded-For', '10.0.0.1'],
      ['X-Request-Id', 'mine-1'],
    ])
    const seen = s.requests('up').at(-1)!
    expect(seen.header('host')).toBe(`127.0.0.1:${s.upstreams.up.port}`)
    expect(seen.header('user-agent')).toBe('SDK/1')
    expect(seen.header('anthropic-version')).toBe('2023-06-01')
    expect(seen.headers.filter(([name]) => name.toLowerCase() === 'anthropic-beta').map(([, value]) => value)).toEqual([
      'a',
      'b',
    ])
    expect(seen.header('x-stainless-lang')).toBe('js')
    expect(seen.header('traceparent')).toBe('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
    expect(seen.header('openai-project')).toBe(format === OPENAI ? 'weir' : 'mine')
    expect(seen.header('x-request-id')).toBe('mine-1')
    for (const name of ['te', 'x-hop', 'x-weir-backend', 'x-forwarded-for']) expect(seen.header(name)).toBeUndefined()
    expect(seen.header('content-type')).toBe('application/json')
  })

  test('an image of 8 MB arrives whole (wire case 18)', async () => {
    const image = `data:image/png;base64,${'iVBORw0K'.repeat(1024 * 1024)}`
    const body = JSON.stringify({ model: `${format.dialect}-renamed`, messages: [{ role: 'user', content: image }] })
    expect((await send(body)).status).toBe(200)
    const arrived = s.requests('up').at(-1)!.body
    expect(arrived.equals(Buffer.from(body.replace(`"${format.dialect}-renamed"`, JSON.stringify(RENAMED))))).toBe(true)
  })

  test('a body in chunks arrives whole', async () => {
    const body = JSON.stringify({ model: format.dialect, text: 'ü'.repeat(50_000) })
    const pieces = [0, 7, 20_001, 20_002].map((start, i, all) => chunk(Buffer.from(body).subarray(start, all[i + 1])))
    const chunked = request({
      path: format.path,
      headers: [['transfer-encoding', 'chunked']],
      body: Buffer.concat([...pieces, Buffer.from(LAST_CHUNK)]),
    })
    expect((await exchange(chunked, [write(jsonResponse(200, format.answer))])).status).toBe(200)
    expect(passed()).toBe(body)
  })
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

test('embeddings and count_tokens pass to their own paths, byte for byte', async () => {
  const embedding = '{"object":"list","data":[{"embedding":[0.10,-1e-7]}],"usage":{"prompt_tokens":4,"total_tokens":4}}'
  const calls: [Format, string, string][] = [
    [OPENAI, '/v1/embeddings', embedding],
    [ANTHROPIC, '/v1/messages/count_tokens', '{"input_tokens": 12 }'],
  ]
  for (const [{ dialect }, path, answer] of calls) {
    const body = `{"input":"a","model":"${dialect}"}`
    const response = await exchange(jsonRequest(path, body), [write(jsonResponse(200, answer))])
    expect(response.text).toBe(answer)
    expect([s.requests('up').at(-1)!.path, passed()]).toEqual([path, body])
  }
})
