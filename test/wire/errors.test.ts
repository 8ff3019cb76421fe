import { describe, expect, test } from 'vitest'
import { jsonRequest, jsonResponse, request } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawClient, rawRequest } from '../fakes/raw-client.ts'
import { write } from '../fakes/steps.ts'
import { backendYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from '../kit/resources.ts'
import { startWeir } from '../kit/weir.ts'
import { expectError } from './error-shape.ts'
import { ANTHROPIC, ask, FORMATS, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

const TEAM: Header = ['authorization', 'Bearer team-key']
const OTHER: Header = ['authorization', 'Bearer other-key']

const s = stage(['up'], ({ up }) =>
  yamlFile(
    secretYaml({ name: 'team', value: 'team-key' }),
    secretYaml({ name: 'other', value: 'other-key' }),
    tenantYaml({ name: 'team', secrets: ['team'] }),
    tenantYaml({ name: 'other', secrets: ['other'] }),
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: `${dialect}-a`, url: up, provider }),
      backendYaml({ name: `${dialect}-b`, url: up, provider }),
      routeYaml({
        name: dialect,
        models: [dialect],
        backends: [`${dialect}-a`, { name: `${dialect}-b`, weight: 0, priority: 1 }],
      }),
      routeYaml({
        name: `${dialect}-team`,
        models: [`${dialect}-team`, `${dialect}-team/*`],
        backends: [`${dialect}-a`],
        access: { tenants: ['team'] },
      }),
    ]),
  ),
)

/** Nothing of what these tests send may reach a backend. */
async function refused(bytes: Buffer, method?: string) {
  const answer = await rawRequest(s.weir.url, bytes, { method })
  expect(s.requests('up')).toHaveLength(0)
  return answer
}

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const post = (body: unknown, headers: Header[] = [TEAM]) => refused(jsonRequest(format.path, body, headers))

  test('a missing key is 401 and says where to send it', async () => {
    expectError(await refused(ask(format, dialect)), format, 'invalid_api_key', {
      message: format === OPENAI ? /required.*"Authorization: Bearer KEY"/ : /required.*"x-api-key: KEY"/,
    })
  })

  test.each<[string, Header]>([
    ['a wrong key', ['authorization', 'Bearer wrong']],
    ['a key with more behind it', ['x-api-key', 'team-key x']],
    ['a beginning of a key', ['x-api-key', 'team-ke']],
    ['a key as another scheme', ['authorization', 'Basic dGVhbS1rZXk=']],
    ['a key without its scheme', ['authorization', 'Bearer']],
  ])('%s is 401: %j', async (_, key) => {
    expectError(await refused(ask(format, dialect, {}, [key])), format, 'invalid_api_key', { message: /Incorrect/ })
  })

  test('an unknown model is 404 and lists the models that the caller may use', async () => {
    const all = FORMATS.flatMap(({ dialect }) => [dialect, `${dialect}-team`])
    const team = await post({ model: 'gpt-9' })
    expectError(team, format, 'model_not_found', { param: 'model', message: /"gpt-9" does not exist for you/ })
    for (const name of [...all, `${dialect}-team/*`]) expect(team.text).toContain(name)
  })

  test('a model that belongs to another tenant is 404 as an unknown one, and is not listed', async () => {
    for (const model of [`${dialect}-team`, `${dialect}-team/x`]) {
      const answer = await refused(ask(format, model, {}, [OTHER]))
      expectError(answer, format, 'model_not_found', { param: 'model', message: /You may use: anthropic, openai\.$/ })
    }
    const listed = await refused(request({ method: 'GET', path: '/v1/models', headers: [OTHER] }), 'GET')
    expect((listed.json() as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['anthropic', 'openai'])
  })

  test.each([
    ['text', 'hello', /JSON object/],
    ['nothing', '', /JSON object/],
    ['an array', '[]', /JSON object/],
    ['a string', '"model"', /JSON object/],
    ['half an object', `{"model":"${dialect}"`, /at byte \d+/],
    ['two objects', `{"model":"${dialect}"}{}`, /unexpected text behind/],
    ['single quotes', `{'model':'${dialect}'}`, /double quotes/],
    ['a trailing comma', `{"model":"${dialect}",}`, /double quotes/],
    ['a string that does not end', `{"model":"${dialect}`, /unterminated/],
    ['brackets that do not match', `{"model":"${dialect}","a":[}]}`, /mismatched/],
    ['nesting without end', `{"model":"${dialect}","a":${'['.repeat(100_000)}`, /nested deeper/],
  ])('a body that is %s is 400 invalid_json', async (_, body, message) => {
    expectError(await post(body), format, 'invalid_json', { message })
  })

  test.each([
    ['no model', '{}', 'model'],
    ['an empty model', '{"model":""}', 'model'],
    ['a model that is no string', '{"model":{"name":"x"}}', 'model'],
    ['a stream that is no boolean', `{"model":"${dialect}","stream":"yes"}`, 'stream'],
  ])('%s is 400 invalid_request and names the field', async (_, body, param) => {
    expectError(await post(body), format, 'invalid_request', { param, message: new RegExp(`"${param}"`) })
  })

  test('a model of the other dialect only is 400 dialect_unsupported', async () => {
    const other = format === OPENAI ? ANTHROPIC : OPENAI
    expectError(await post({ model: other.dialect }), format, 'dialect_unsupported', {
      message: new RegExp(`speaks the ${dialect} API`),
    })
  })

  test('x-weir-backend pins one of the backends, and a wrong one is 400 that lists them', async () => {
    for (const pin of [`${dialect}-b`, `default/${dialect}-b`]) {
      s.upstreams.up.script([write(jsonResponse(200, format.answer))])
      const pinned = await rawRequest(s.weir.url, ask(format, dialect, {}, [TEAM, ['x-weir-backend', pin]]))
      expect([pinned.status, pinned.header('x-weir-backend')]).toEqual([200, `default/${dialect}-b`])
    }
    const wrong = await rawRequest(s.weir.url, ask(format, dialect, {}, [TEAM, ['x-weir-backend', 'nobody']]))
    expectError(wrong, format, 'invalid_request', { message: new RegExp(`${dialect}-a, ${dialect}-b`) })
    expect(s.requests('up')).toHaveLength(2)
  })

  test.each(['abc', '0', '-5', ''])('x-request-timeout-ms of %j is 400', async value => {
    const headers: Header[] = [TEAM, ['x-request-timeout-ms', value]]
    expectError(await refused(ask(format, dialect, {}, headers)), format, 'invalid_request', {
      message: /x-request-timeout-ms/,
    })
  })

  test.each(['GET', 'PUT', 'DELETE', 'PATCH'])('%s is 405 and names the method that is meant', async method => {
    for (const path of [format.path, `${format.path}/`, `${format.path}?beta=true`]) {
      const answer = await refused(request({ method, path, headers: [TEAM] }), method)
      expectError(answer, format, 'method_not_allowed', { message: /takes POST/ })
      expect(answer.header('allow')).toBe('POST')
    }
  })

  test('HEAD is 405 without a body', async () => {
    const answer = await refused(request({ method: 'HEAD', path: format.path }), 'HEAD')
    expect([answer.status, answer.header('x-weir-code'), answer.text]).toEqual([405, 'method_not_allowed', ''])
  })

  test('a wrong path is 404 and names the right ones', async () => {
    const headers: Header[] = format === ANTHROPIC ? [['anthropic-version', '2023-06-01']] : []
    for (const path of ['/', '/v1', '/chat/completions', '/v1/v1/messages', '/v1/chat/completions/x', '/v2/x?a=b']) {
      const answer = await refused(jsonRequest(path, {}, headers))
      expectError(answer, format, 'not_found', { message: /POST \/v1\/chat\/completions.*POST \/v1\/messages/ })
    }
  })

  test("errors and answers carry the caller's x-request-id, or one of their own", async () => {
    const send = (id: string) => refused(ask(format, 'gpt-9', {}, [TEAM, ['x-request-id', id]]))
    expect((await send('req_1:a.b-C')).header('x-request-id')).toBe('req_1:a.b-C')
    for (const bad of ['a b', 'x'.repeat(129), '<script>', 'ü']) {
      expect((await send(bad)).header('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
  })

  test('no backend in service is 503, with a time to come back', async () => {
    const weir = await startWeir({
      files: {
        'weir.yaml': yamlFile(
          backendYaml({ name: 'gone', url: s.upstreams.up.url, provider: format.provider }),
          routeYaml({ name: 'r', models: ['m'], backends: ['gone'] }),
        ),
      },
    })
    await fetch(`${weir.adminUrl}/drain/default/gone`, { method: 'POST' })
    const answer = await rawRequest(weir.url, ask(format, 'm'))
    expectError(answer, format, 'no_backend', { message: /"m"/ })
    expect(answer.header('retry-after')).toMatch(/^[12]$/)
  })
})

test('where keys exist, a caller without one is the anonymous tenant and a wrong key is still 401', async () => {
  const weir = await startWeir({
    files: {
      'weir.yaml': yamlFile(
        secretYaml({ name: 'team', value: 'team-key' }),
        tenantYaml({ name: 'team', secrets: ['team'] }),
        tenantYaml({ name: 'nobody', anonymous: true }),
        backendYaml({ name: 'a', url: s.upstreams.up.url }),
        routeYaml({ name: 'all', models: ['all'], backends: ['a'] }),
        routeYaml({ name: 'team', models: ['team'], backends: ['a'], access: { tenants: ['team'] } }),
      ),
    },
  })
  s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))], [write(jsonResponse(200, OPENAI.answer))])
  expect((await rawRequest(weir.url, ask(OPENAI, 'all'))).status).toBe(200)
  expectError(await rawRequest(weir.url, ask(OPENAI, 'team')), OPENAI, 'model_not_found', { param: 'model' })
  expect((await rawRequest(weir.url, ask(OPENAI, 'team', {}, [TEAM]))).status).toBe(200)
  const wrong = await rawRequest(weir.url, ask(OPENAI, 'all', {}, [['authorization', 'Bearer wrong']]))
  expectError(wrong, OPENAI, 'invalid_api_key')
})

test('where no tenant has keys, any key is the anonymous tenant, as SDKs always send one', async () => {
  const files = {
    'weir.yaml': yamlFile(
      backendYaml({ name: 'a', url: s.upstreams.up.url }),
      routeYaml({ name: 'all', models: ['m'], backends: ['a'] }),
    ),
  }
  const weir = await startWeir({ files })
  s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))])
  expect((await rawRequest(weir.url, ask(OPENAI, 'm', {}, [['authorization', 'Bearer sk-unused']]))).status).toBe(200)
})

describe('the list of models', () => {
  const get = (path: string, headers: Header[] = [TEAM]) => refused(request({ method: 'GET', path, headers }), 'GET')
  const version: Header = ['anthropic-version', '2023-06-01']

  test('names what the caller may use, in the dialect asked for', async () => {
    const ids = ['anthropic', 'anthropic-team', 'openai', 'openai-team']
    const openai = (await get('/v1/models')).json() as { object: string; data: { id: string; object: string }[] }
    expect(openai.object).toBe('list')
    expect(openai.data.map(({ id, object }) => [id, object])).toEqual(ids.map(id => [id, 'model']))
    const anthropic = (await get('/v1/models', [TEAM, version])).json() as { data: { id: string; type: string }[] }
    expect(anthropic).toMatchObject({ has_more: false, first_id: 'anthropic', last_id: 'openai-team' })
    expect(anthropic.data.map(({ id, type }) => [id, type])).toEqual(ids.map(id => [id, 'model']))
    expect((await get('/v1/models/openai-team')).json()).toMatchObject({ id: 'openai-team', object: 'model' })
  })

  test.each([OPENAI, ANTHROPIC])('refuses in the dialect asked for: $dialect', async format => {
    const more = format === ANTHROPIC ? [version] : []
    expectError(await get('/v1/models', more), format, 'invalid_api_key')
    expectError(await get('/v1/models/nothing', [TEAM, ...more]), format, 'model_not_found', { param: 'model' })
    expectError(await refused(jsonRequest('/v1/models', {}, more)), format, 'method_not_allowed', {
      message: /takes GET/,
    })
  })
})

test('an error leaves the connection usable', async () => {
  const client = await rawClient(s.weir.url)
  const wrong = [
    ask(OPENAI, 'gpt-9', {}, [TEAM]),
    jsonRequest('/v1/nothing', { a: 'b'.repeat(10_000) }),
    ask(ANTHROPIC, 'claude-9', {}, [['x-api-key', 'wrong']]),
    jsonRequest('/v1/messages', 'no JSON', [TEAM]),
  ]
  for (const bytes of wrong) {
    await client.send(bytes)
    expect((await client.response()).status).toBeGreaterThanOrEqual(400)
  }
  s.upstreams.up.script([write(jsonResponse(200, OPENAI.answer))])
  await client.send(ask(OPENAI, 'openai', {}, [TEAM]))
  expect((await client.response()).status).toBe(200)
  client.close()
})
