import { describe, expect, test } from 'vitest'
import { chunk, jsonRequest, jsonResponse, LAST_CHUNK, request } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { type Script, write } from '../fakes/steps.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { ANTHROPIC, FORMATS, type Format, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

// One upstream plays every provider. The model `openai` is passed as it is, `openai-renamed` under another name.
const RENAMED = 'ft:"upstream"/ü'
const s = stage(['up'], ({ up }) =>
  yamlFile(
    backendYaml({
      name: 'openai',
      url: `${up}/v1`,
      headers: [{ name: 'OpenAI-Project', value: 'weir' }],
    }),
    backendYaml({ name: 'anthropic', url: up, provider: 'Anthropic' }),
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

/** Sends and returns the answer; `script` is what the upstream does. */
function exchange(bytes: Buffer, script: Script) {
  s.upstreams.up.script(script)
  return rawRequest(s.weir.url, bytes)
}

/** The body as the upstream got it. */
const passed = () => s.requests('up').at(-1)!.body.toString()

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s: what the client wrote', (_, format) => {
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

  test('keeps every digit, both ways (wire case 22)', async () => {
    const numbers = '"seed":9007199254740993,"temperature":1.10,"top_p":1E-2,"logit_bias":{"1":-0.0}'
    const body = `{"model":"${format.dialect}",${numbers}}`
    const { text } = await send(body)
    expect(passed()).toBe(body)
    expect(text).toContain('"seed":9007199254740993, "n":1.10')
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

  test('may have headers that are no ASCII', async () => {
    const asked = jsonRequest(format.path, { model: format.dialect })
    const at = asked.indexOf('content-type')
    await exchange(Buffer.concat([asked.subarray(0, at), Buffer.from('x-info: ü \u{1f30a}\r\n'), asked.subarray(at)]), [
      write(jsonResponse(200, format.answer)),
    ])
    expect(s.requests('up')[0]!.raw.toString()).toContain('x-info: ü \u{1f30a}\r\n')
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
