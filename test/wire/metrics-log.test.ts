import { beforeAll, describe, expect, test } from 'vitest'
import { chunk, jsonRequest, jsonResponse } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawClient, rawRequest } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { chatChunk, DONE, stream, streamHead, usageChunk } from '../fakes/sse.ts'
import { fin, stall, write } from '../fakes/steps.ts'
import { eventually } from '../kit/patience.ts'
import { backendYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from '../kit/resources.ts'
import { ANTHROPIC, ask, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

const SECRETS = ['tenant-key-1', 'provider-key-1', 'wrong-key-1']
const CONTENT = ['the-prompt', 'the-answer', 'the-system']
const TEAM: Header = ['authorization', 'Bearer tenant-key-1']

const s = stage(['up', 'spare'], ({ up, spare }) =>
  yamlFile(
    secretYaml({ name: 'team', value: 'tenant-key-1' }),
    secretYaml({ name: 'provider', value: 'provider-key-1' }),
    tenantYaml({ name: 'team', secrets: ['team'] }),
    backendYaml({ name: 'gpt', url: up, secret: 'provider', concurrency: { max: 7 } }),
    backendYaml({ name: 'spare', url: spare, secret: 'provider' }),
    backendYaml({ name: 'claude', url: up, secret: 'provider', provider: 'Anthropic' }),
    routeYaml({
      name: 'gpt',
      models: ['gpt-*'],
      backends: [
        { name: 'gpt', model: 'upstream-gpt' },
        { name: 'spare', priority: 1 },
      ],
    }),
    routeYaml({ name: 'claude', models: ['claude'], backends: ['claude'] }),
  ),
)

const usage = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output })
const said = { messages: [{ role: 'user', content: 'the-prompt' }], system: 'the-system' }

/** Known traffic, one request after the other; what each was answered. */
async function traffic(): Promise<Record<string, RawResponse>> {
  const { up, spare } = s.upstreams
  const answers: Record<string, RawResponse> = {}
  const send = async (name: string, bytes: Buffer) => {
    answers[name] = await rawRequest(s.weir.url, bytes)
    await s.weir.waitForLog(line => line.requestId === name)
  }
  const headers = (name: string, key = TEAM): Header[] => [key, ['x-request-id', name]]

  up.script([write(jsonResponse(200, { choices: [{ message: { content: 'the-answer' } }], usage: usage(10, 20) }))])
  await send('json', ask(OPENAI, 'gpt-a', said, headers('json')))

  const chunks = [chatChunk({ content: 'the-answer' }), chatChunk({}, 'stop'), usageChunk(3, 4), DONE]
  up.script(stream(chunks))
  await send('stream', ask(OPENAI, 'gpt-b', { ...said, stream: true }, headers('stream')))

  up.script([write(jsonResponse(503, OPENAI.error('api_error', 'the-answer')))])
  spare.script([write(jsonResponse(200, { choices: [], usage: usage(100, 0) }))])
  await send('failover', ask(OPENAI, 'gpt-a', said, headers('failover')))

  // Longer than what is held, so that its usage comes long after its beginning was passed on.
  const vectors = Array.from({ length: 20_000 }, () => 0.123456789)
  up.script([write(jsonResponse(200, { data: vectors, model: 'm', usage: { prompt_tokens: 5, details: { a: {} } } }))])
  await send(
    'embeddings',
    jsonRequest('/v1/embeddings', { model: 'gpt-e', input: 'the-prompt' }, headers('embeddings')),
  )

  up.script(stream(ANTHROPIC.stream(['the-answer'])))
  await send('messages', ask(ANTHROPIC, 'claude', { ...said, stream: true }, headers('messages')))

  const long = {
    content: [{ text: '"usage":{"output_tokens":9}}'.repeat(5_000) }],
    usage: { input_tokens: 6, output_tokens: 7 },
  }
  up.script([write(jsonResponse(200, { ...long, stop_reason: 'end_turn' }))])
  await send('long', ask(ANTHROPIC, 'claude', said, headers('long')))

  up.script([write(streamHead(), chunk(chatChunk({ content: 'the-answer' }))), fin()])
  await send('broken', ask(OPENAI, 'gpt-a', { ...said, stream: true }, headers('broken')))

  await send('unknown', ask(OPENAI, 'nothing', said, headers('unknown')))
  await send('wrong', ask(ANTHROPIC, 'claude', said, headers('wrong', ['x-api-key', 'wrong-key-1'])))
  await send('no-json', jsonRequest('/v1/chat/completions', 'the-prompt', headers('no-json')))

  up.script([write(streamHead(), chunk(chatChunk({ content: 'the-answer' }))), stall()])
  const client = await rawClient(s.weir.url)
  await client.send(ask(OPENAI, 'gpt-a', { ...said, stream: true }, headers('gone')))
  await client.next().until(({ text }) => text.includes('the-answer'))
  client.abort()
  await s.weir.waitForLog(line => line.requestId === 'gone')
  return answers
}

let answers: Record<string, RawResponse>
beforeAll(async () => {
  answers = await traffic()
})

const number = expect.any(Number)
const ANY = {
  time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  level: 'info',
  tenant: 'default/team',
  route: 'default/gpt',
  backend: 'default/gpt',
  dialect: 'openai',
  status: 200,
  code: null,
  attempts: 1,
  queueMs: number,
  firstTokenMs: number,
  totalMs: number,
  outcome: 'Served',
}
const nobody = {
  level: 'warn',
  route: null,
  backend: null,
  attempts: 0,
  queueMs: 0,
  firstTokenMs: null,
  ...tokens(null, null),
}

function tokens(tokensIn: number | null, tokensOut: number | null) {
  return { tokensIn, tokensOut }
}

describe('the access log', () => {
  test.each([
    ['json', { model: 'gpt-a', ...tokens(10, 20) }],
    ['stream', { model: 'gpt-b', ...tokens(3, 4) }],
    ['failover', { model: 'gpt-a', backend: 'default/spare', attempts: 2, ...tokens(100, 0) }],
    ['embeddings', { model: 'gpt-e', ...tokens(5, 0) }],
    [
      'messages',
      { model: 'claude', route: 'default/claude', backend: 'default/claude', dialect: 'anthropic', ...tokens(3, 1) },
    ],
    [
      'long',
      { model: 'claude', route: 'default/claude', backend: 'default/claude', dialect: 'anthropic', ...tokens(6, 7) },
    ],
    ['broken', { model: 'gpt-a', level: 'warn', code: 'upstream_error', outcome: 'Failed', ...tokens(null, null) }],
    ['gone', { model: 'gpt-a', level: 'warn', outcome: 'ClientGone', ...tokens(null, null) }],
    ['unknown', { ...nobody, model: 'nothing', status: 404, code: 'model_not_found', outcome: 'Refused' }],
    [
      'wrong',
      {
        ...nobody,
        tenant: null,
        model: null,
        dialect: 'anthropic',
        status: 401,
        code: 'invalid_api_key',
        outcome: 'Refused',
      },
    ],
    ['no-json', { ...nobody, model: null, status: 400, code: 'invalid_json', outcome: 'Refused' }],
  ])('has one line for each request, with exactly these fields: %s', async (requestId, expected) => {
    const lines = s.weir.logs.filter(line => line.requestId === requestId)
    expect(lines).toEqual([{ ...ANY, requestId, ...expected }])
    const [{ firstTokenMs, totalMs, queueMs }] = lines as unknown as [Record<string, number>]
    expect(totalMs).toBeGreaterThanOrEqual((firstTokenMs ?? 0) + queueMs!)
  })

  test('has no other lines', () => {
    expect(s.weir.logs.map(line => line.requestId).sort()).toEqual([...Object.keys(answers), 'gone'].sort())
  })
})

/** Samples by name and labels as they are written. */
async function samples(): Promise<Map<string, number>> {
  const lines = (await s.weir.metrics()).split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

describe('the metrics', () => {
  test('count requests by route, backend, dialect and status', async () => {
    const all = await samples()
    const requests = [...all].filter(([name]) => name.startsWith('weir_requests_total'))
    const labels = (route: string, backend: string, dialect: string, code: number) =>
      `weir_requests_total{route="${route}",backend="${backend}",dialect="${dialect}",code="${code}"}`
    expect(new Map(requests)).toEqual(
      new Map([
        // json, stream, embeddings, broken, and the client that left after the head
        [labels('default/gpt', 'default/gpt', 'openai', 200), 5],
        [labels('default/gpt', 'default/spare', 'openai', 200), 1],
        [labels('default/claude', 'default/claude', 'anthropic', 200), 2],
        [labels('', '', 'openai', 404), 1],
        [labels('', '', 'anthropic', 401), 1],
        [labels('', '', 'openai', 400), 1],
      ]),
    )
  })

  test('count attempts, refusals and tokens', async () => {
    const all = await samples()
    const values = {
      'weir_attempts_total{outcome="Done"}': 6,
      'weir_attempts_total{outcome="Status"}': 1,
      'weir_attempts_total{outcome="Broken"}': 1,
      'weir_attempts_total{outcome="Cancelled"}': 1,
      'weir_refusals_total{code="model_not_found"}': 1,
      'weir_refusals_total{code="invalid_api_key"}': 1,
      'weir_refusals_total{code="invalid_json"}': 1,
      'weir_tokens_total{kind="input"}': 10 + 3 + 100 + 5 + 3 + 6,
      'weir_tokens_total{kind="output"}': 20 + 4 + 1 + 7,
      'weir_request_seconds_count{dialect="openai"}': 8,
      'weir_request_seconds_count{dialect="anthropic"}': 3,
      weir_first_token_seconds_count: 4,
      weir_queue_wait_seconds_count: 8,
      weir_in_flight: 0,
      weir_config_generation: 1,
      'weir_references{backend="default/gpt"}': 0,
      'weir_queue_depth{backend="default/gpt"}': 0,
    }
    expect(Object.fromEntries(Object.keys(values).map(name => [name, all.get(name)]))).toEqual(values)
  })

  test('have the OpenTelemetry GenAI names', async () => {
    const all = await samples()
    const set = (operation: string, provider: string, model: string) =>
      `gen_ai_operation_name="${operation}",gen_ai_provider_name="${provider}",gen_ai_request_model="${model}"`
    const values = {
      [`gen_ai_client_token_usage_sum{${set('chat', 'openai', 'gpt-*')},gen_ai_token_type="input"}`]: 113,
      [`gen_ai_client_token_usage_sum{${set('chat', 'openai', 'gpt-*')},gen_ai_token_type="output"}`]: 24,
      [`gen_ai_client_token_usage_sum{${set('embeddings', 'openai', 'gpt-*')},gen_ai_token_type="input"}`]: 5,
      [`gen_ai_client_token_usage_sum{${set('chat', 'anthropic', 'claude')},gen_ai_token_type="input"}`]: 9,
      [`gen_ai_client_operation_duration_seconds_count{${set('chat', 'openai', 'gpt-*')},error_type=""}`]: 3,
      [`gen_ai_client_operation_duration_seconds_count{${set('chat', 'openai', 'gpt-*')},error_type="upstream_error"}`]: 1,
      [`gen_ai_client_operation_duration_seconds_count{${set('chat', 'openai', 'gpt-*')},error_type="client_gone"}`]: 1,
      [`gen_ai_client_operation_time_to_first_chunk_seconds_count{${set('chat', 'openai', 'gpt-*')}}`]: 3,
      [`gen_ai_client_operation_time_to_first_chunk_seconds_count{${set('chat', 'anthropic', 'claude')}}`]: 1,
    }
    expect(Object.fromEntries(Object.keys(values).map(name => [name, all.get(name)]))).toEqual(values)
  })

  test('have no label that a caller can invent', async () => {
    expect(await s.weir.metrics()).not.toMatch(/gpt-a|gpt-b|gpt-e|nothing/)
  })

  test('show what runs while it runs', async () => {
    s.upstreams.up.script([write(streamHead(), chunk(chatChunk({ content: 'x' }))), stall()])
    const client = await rawClient(s.weir.url)
    await client.send(ask(OPENAI, 'gpt-a', { stream: true }, [TEAM, ['x-request-id', 'running']]))
    await client.next().until(({ text }) => text !== '')
    const all = await samples()
    expect([all.get('weir_in_flight'), all.get('weir_references{backend="default/gpt"}')]).toEqual([1, 1])
    const { load, backends } = await s.weir.status()
    expect(load).toEqual({ inFlight: 1, queued: 0, bodyBytes: 0, saturated: false })
    expect(backends.find(({ name }) => name === 'gpt')).toMatchObject({
      references: { 'upstream-gpt': 1 },
      inFlight: 1,
    })
    client.abort()
    await eventually(async () => (await samples()).get('weir_in_flight') === 0)
  })
})

describe('the admin port', () => {
  test('says that the gateway lives and is ready', async () => {
    for (const path of ['/livez', '/readyz']) {
      const answer = await fetch(s.weir.adminUrl + path)
      expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
        200,
        expect.stringContaining('text/plain'),
        'ok\n',
      ])
    }
    expect((await fetch(`${s.weir.adminUrl}/metrics`)).headers.get('content-type')).toMatch(/^text\/plain; version=0/)
  })

  test('shows the status, whose fields are a contract', async () => {
    const status = await s.weir.status()
    const text = expect.stringMatching(/\w/)
    const backend = (name: string, slots: number) => ({
      namespace: 'default',
      name,
      uid: text,
      state: 'Serving',
      references: {},
      oldestSeconds: 0,
      queued: 0,
      inFlight: 0,
      slots,
    })
    expect(status).toMatchObject({
      pod: { name: text, uid: text },
      bootId: text,
      ready: true,
      config: { epoch: text, generation: 1, schema: { major: number, minor: number } },
      refused: [],
      load: { inFlight: 0, queued: 0, bodyBytes: 0, saturated: false },
    })
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
    expect([...status.backends].sort(byName)).toEqual([
      backend('claude', 256),
      backend('gpt', 7),
      backend('spare', 256),
    ])
  })

  test('answers an unknown path with the known ones', async () => {
    const answer = await fetch(`${s.weir.adminUrl}/nothing`)
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('/metrics')])
  })
})

test('neither content nor secrets are in the log, the metrics, the status or the messages', async () => {
  const { weir } = s
  const everything = JSON.stringify([await weir.status(), await weir.metrics(), weir.logs, weir.stderrLines])
  for (const word of [...SECRETS, ...CONTENT]) expect(everything).not.toContain(word)
  // The words were there to be seen.
  const seen = s.upstreams.up.requests.map(({ raw, body }) => raw.toString() + body.toString()).join('')
  for (const word of ['provider-key-1', 'the-prompt', 'the-system']) expect(seen).toContain(word)
})
