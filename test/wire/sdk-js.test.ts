import { describe, expect, test } from 'vitest'
import { jsonResponse, response } from '../fakes/bytes.ts'
import { type Script, stall, write } from '../fakes/steps.ts'
import { refusingUrl } from '../fakes/unreachable.ts'
import { within } from '../kit/patience.ts'
import { stuckStream } from './held-streams.ts'
import {
  anthropic,
  type ErrorClass,
  openai,
  QUESTION,
  SDKS,
  type Sdk,
  type SdkError,
  type SdkOptions,
  thrown,
} from './sdk-clients.ts'
import { sdkStage } from './sdk-stage.ts'

const ID = /^[0-9a-f-]{36}$/
const s = sdkStage()
const here = (rest: Partial<SdkOptions> = {}): SdkOptions => ({ url: s.weir.url, ...rest })

describe('in front of the demo model', () => {
  test.each(SDKS)('an answer in one piece and as a stream, $name', async ({ ask, stream }) => {
    const { text, id } = await ask('demo', here())
    expect(text).toContain(QUESTION)
    expect(id).toMatch(ID)
    expect(await stream('demo', here())).toBe(text)
  })

  test("the SDKs' own accumulators accept the streams, usage included", async () => {
    const messages = [{ role: 'user' as const, content: QUESTION }]
    const whole = await openai(here()).chat.completions.create({ model: 'demo', messages })
    const options = { model: 'demo', messages, stream_options: { include_usage: true } }
    const completion = await openai(here()).chat.completions.stream(options).finalChatCompletion()
    expect(completion.choices[0]!.message.content).toBe(whole.choices[0]!.message.content)
    expect(completion.usage).toEqual(whole.usage)

    const asked = { model: 'demo', messages, max_tokens: 200 }
    const message = await anthropic(here()).messages.create(asked)
    const streamed = await anthropic(here()).messages.stream(asked).finalMessage()
    expect(streamed.content).toEqual(message.content)
    expect(streamed.usage).toMatchObject({ input_tokens: 5, output_tokens: message.usage.output_tokens })
  })

  test('embeddings and count_tokens', async () => {
    const { data, usage } = await openai(here()).embeddings.create({ model: 'demo', input: ['one', 'two'] })
    expect(data.map(({ embedding }) => embedding.length > 0)).toEqual([true, true])
    expect(usage.prompt_tokens).toBe(2)
    const messages = [{ role: 'user' as const, content: QUESTION }]
    expect(await anthropic(here()).messages.countTokens({ model: 'demo', messages })).toEqual({ input_tokens: 5 })
  })

  test('the models, all and one', async () => {
    const ids: string[] = []
    for await (const { id } of openai(here()).models.list()) ids.push(id)
    expect(ids).toContain('demo')
    const others: string[] = []
    for await (const { id } of anthropic(here()).models.list()) others.push(id)
    expect(others).toEqual(ids)
    expect(await openai(here()).models.retrieve('demo')).toMatchObject({ id: 'demo', object: 'model' })
    expect(await anthropic(here()).models.retrieve('demo')).toMatchObject({ id: 'demo', type: 'model' })
    for (const client of [openai(here()), anthropic(here())]) {
      const error = await thrown(client.models.retrieve('none'))
      expect(error).toMatchObject({ status: 404, message: expect.stringContaining('You may use: ') })
    }
  })

  test('whoever stops reading a stream leaves nothing behind', async () => {
    const asked = { model: 'scripted', messages: [{ role: 'user' as const, content: QUESTION }], stream: true as const }
    s.upstreams.provider.script(...SDKS.map(({ wire }) => stuckStream(wire)))
    for await (const _ of await openai(here()).chat.completions.create(asked)) break
    for await (const _ of await anthropic(here()).messages.create({ ...asked, max_tokens: 9 })) break
    const left = s.requests('provider').map(({ closed }) => within(closed, 2_000, 'the end of a connection upstream'))
    expect((await Promise.all(left)).map(({ how }) => how)).not.toContain('script')
  })
})

/** The error is of that class, with the gateway's code, a message and the id of the request. */
function expectError(sdk: Sdk, error: SdkError, name: ErrorClass, status: number, code: string): void {
  expect(error).toBeInstanceOf(sdk.errors[name])
  expect({ status: error.status, code: error.headers?.get('x-weir-code') }).toEqual({ status, code })
  expect(error.requestID).toMatch(ID)
  expect(error.requestID).toBe(error.headers?.get('x-request-id'))
  expect(error.message.length).toBeGreaterThan(20)
  if (sdk.name === 'openai') expect(error.code).toBe(code)
  else expect(error.type).toMatch(/_error$|^request_too_large$/)
}

interface Refusal {
  what: string
  call(sdk: Sdk): Promise<unknown>
  /** What the provider does for the call, if it gets that far. */
  script?: Script
  expected: [ErrorClass, number, string]
}

const LATE = { headers: { 'x-request-timeout-ms': '200' } }

const REFUSALS: Refusal[] = [
  {
    what: 'a wrong key',
    call: ({ ask }) => ask('demo', here({ apiKey: 'wrong' })),
    expected: ['AuthenticationError', 401, 'invalid_api_key'],
  },
  {
    what: 'an unknown model',
    call: ({ ask }) => ask('gpt-9', here()),
    expected: ['NotFoundError', 404, 'model_not_found'],
  },
  {
    what: 'an unknown path',
    call: ({ get }) => get('/nothing', here()),
    expected: ['NotFoundError', 404, 'not_found'],
  },
  {
    what: 'a wrong method',
    call: ({ name, get }) => get(name === 'openai' ? '/chat/completions' : '/messages', here()),
    expected: ['APIError', 405, 'method_not_allowed'],
  },
  {
    what: 'a model name that is none',
    call: ({ ask }) => ask(7 as unknown as string, here()),
    expected: ['BadRequestError', 400, 'invalid_request'],
  },
  {
    what: 'a model of the other dialect only',
    call: ({ name, ask }) => ask(name === 'openai' ? 'only-anthropic' : 'only-openai', here()),
    expected: ['BadRequestError', 400, 'dialect_unsupported'],
  },
  {
    what: 'a body over the limit',
    call: ({ ask }) => ask('demo', here(), 'x'.repeat(17 * 1024 * 1024)),
    expected: ['APIError', 413, 'request_too_large'],
  },
  {
    what: 'a provider that cannot be reached',
    call: ({ ask }) => ask('refusing', here()),
    expected: ['InternalServerError', 502, 'upstream_error'],
  },
  {
    what: 'a provider that answers with HTML',
    call: ({ ask }) => ask('scripted', here()),
    script: [write(response(503, [['content-type', 'text/html']], '<h1>Service Unavailable</h1>'))],
    expected: ['InternalServerError', 503, 'upstream_error'],
  },
  {
    what: 'a provider that answers 200 with oops',
    call: ({ ask }) => ask('scripted', here()),
    script: [write(jsonResponse(200, 'oops'))],
    expected: ['InternalServerError', 502, 'upstream_error'],
  },
  {
    what: 'a stream that does not begin in time',
    call: ({ stream }) => stream('scripted', here()),
    script: [stall()],
    expected: ['InternalServerError', 504, 'upstream_timeout'],
  },
  {
    what: 'a deadline',
    call: ({ ask }) => ask('scripted', here(LATE)),
    script: [stall()],
    expected: ['InternalServerError', 504, 'deadline_exceeded'],
  },
]

describe.each(SDKS)("every refusal is the SDK's own error, $name:", sdk => {
  test.each(REFUSALS)('$what', async ({ call, script, expected }) => {
    if (script) s.upstreams.provider.script(script)
    expectError(sdk, await thrown(call(sdk)), ...expected)
  })

  test('a full queue', async () => {
    const { provider } = s.upstreams
    const seen = provider.requests.length
    provider.script([stall()])
    const holder = thrown(sdk.ask('narrow', here({ timeout: 900 })))
    await provider.request(seen)
    const status = sdk.name === 'openai' ? 503 : 529
    expectError(sdk, await thrown(sdk.ask('narrow', here())), 'InternalServerError', status, 'queue_full')
    expect(await holder).toBeInstanceOf(sdk.errors.APIConnectionTimeoutError)
  })

  test('a backend out of service', async () => {
    const drain = (method: string) =>
      fetch(`${s.weir.adminUrl}/drain/default/scripted-${sdk.name}`, { method }).then(({ status }) => status)
    expect(await drain('POST')).toBe(202)
    const error = await thrown(sdk.ask('scripted', here()))
    expect(await drain('DELETE')).toBe(200)
    expectError(sdk, error, 'InternalServerError', 503, 'no_backend')
  })

  test.each<[number, ErrorClass]>([
    [400, 'BadRequestError'],
    [401, 'AuthenticationError'],
    [403, 'PermissionDeniedError'],
    [404, 'NotFoundError'],
    [409, 'ConflictError'],
    [422, 'UnprocessableEntityError'],
    [429, 'RateLimitError'],
    [500, 'InternalServerError'],
    [529, 'InternalServerError'],
  ])("a provider's own %i passes with its message and code", async (status, name) => {
    s.upstreams.provider.script([write(jsonResponse(status, sdk.wire.errorBody('as the provider says')))])
    const error = await thrown(sdk.ask('scripted', here()))
    expect(error).toBeInstanceOf(sdk.errors[name])
    expect(error.message).toContain('as the provider says')
    expect(error).toMatchObject({ status, requestID: expect.stringMatching(ID) })
    if (sdk.name === 'openai') expect(error).toMatchObject({ code: 'broken', type: 'server_error' })
    else expect(error.type).toBe('overloaded_error')
  })

  test('no gateway at all, and one that is too slow', async () => {
    const url = await refusingUrl()
    expect(await thrown(sdk.ask('demo', { url }))).toBeInstanceOf(sdk.errors.APIConnectionError)
    s.upstreams.provider.script([stall()])
    const late = await thrown(sdk.ask('scripted', here({ timeout: 400 })))
    expect(late).toBeInstanceOf(sdk.errors.APIConnectionTimeoutError)
  })
})
