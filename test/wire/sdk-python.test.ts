import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chunk, jsonResponse } from '../fakes/bytes.ts'
import { streamHead } from '../fakes/sse.ts'
import { fin, reset, type Script, stall, write } from '../fakes/steps.ts'
import { refusingUrl } from '../fakes/unreachable.ts'
import { within } from '../kit/patience.ts'
import { pythonWith } from './python-venv.ts'
import { QUESTION } from './sdk-clients.ts'
import { KEY, sdkStage } from './sdk-stage.ts'
import { answered, DIALECTS } from './wire-dialect.ts'

const PACKAGES = ['openai==3.57.0', 'anthropic==2.14.0']
const SCRIPT = fileURLToPath(new URL('sdk_retries.py', import.meta.url))

interface Call {
  sdk: 'openai' | 'anthropic'
  model: string
  stream?: boolean
  retries?: number
  /** Seconds. */
  timeout?: number
  url?: string
  key?: string
}

interface Result {
  texts: string[]
  seconds: number
  error: null | {
    classes: string[]
    status: number | null
    code: string | null
    requestId: string | null
    message: string
  }
}

const s = sdkStage()

/** Why the SDKs cannot be had; then a person's run goes on without, and CI fails. */
let missing: string | undefined
let driver: ChildProcess | undefined
let results: AsyncIterator<string>

beforeAll(async () => {
  let python: string
  try {
    python = await pythonWith(PACKAGES)
  } catch (error) {
    missing = (error as Error).message
    if (process.env.CI === 'true') throw error
    console.warn(`The Python SDKs are not tested: ${missing}. Install python3 with venv and pip to have that.`)
    return
  }
  driver = spawn(python, [SCRIPT, s.weir.url, KEY], { stdio: ['pipe', 'pipe', 'inherit'] })
  results = createInterface(driver.stdout!)[Symbol.asyncIterator]()
}, 240_000)
afterAll(() => void driver?.kill())
beforeEach(context => context.skip(missing !== undefined, missing))

async function call(call: Call): Promise<Result> {
  driver!.stdin!.write(`${JSON.stringify(call)}\n`)
  const { value, done } = await within(results.next(), 25_000, `the end of ${JSON.stringify(call)}`)
  if (done) throw new Error('the Python process has ended')
  return JSON.parse(value) as Result
}

const requests = () => s.requests('provider').length

describe.each(DIALECTS)('python, $name', wire => {
  const sdk = wire.name
  const failing = (status: number, ...headers: [string, string][]): Script => [
    write(jsonResponse(status, wire.errorBody('busy'), headers)),
  ]

  test('an answer in one piece and as a stream', async () => {
    const whole = await call({ sdk, model: 'demo' })
    expect(whole).toMatchObject({ error: null, texts: [expect.stringContaining(QUESTION)] })
    const { texts } = await call({ sdk, model: 'demo', stream: true })
    expect(texts.join('')).toBe(whole.texts[0])
  })

  test("a provider's Retry-After and retry-after-ms are obeyed", async () => {
    s.upstreams.provider.script(failing(503, ['retry-after', '1']), answered(wire))
    expect(await call({ sdk, model: 'scripted', retries: 1 })).toMatchObject({ error: null, texts: ['one two'] })
    s.upstreams.provider.script(failing(429, ['retry-after-ms', '900'], ['retry-after', '60']), answered(wire))
    const { seconds, error } = await call({ sdk, model: 'scripted', retries: 1 })
    expect(error).toBeNull()
    expect(seconds).toBeGreaterThan(0.89)
    expect(requests()).toBe(4)
  })

  test("a provider's x-should-retry is obeyed, both ways", async () => {
    s.upstreams.provider.script(failing(503, ['x-should-retry', 'false']))
    const refused = await call({ sdk, model: 'scripted', retries: 2 })
    expect(refused.error).toMatchObject({ status: 503 })
    s.upstreams.provider.script(failing(418, ['x-should-retry', 'true'], ['retry-after-ms', '10']), answered(wire))
    expect(await call({ sdk, model: 'scripted', retries: 2 })).toMatchObject({ error: null })
    expect(requests()).toBe(3)
  })

  test("a refusal by the gateway's own rate limit is waited out", async () => {
    const model = `briefly-${sdk}`
    s.upstreams.provider.script(...Array.from({ length: 5 }, () => answered(wire)))
    // Two a window: wherever the window turns, five in a row meet its limit.
    for (let i = 0; i < 5; i++) expect((await call({ sdk, model, retries: 1 })).error).toBeNull()
    await s.weir.waitForLog(line => line.model === model && line.status === 429)
    expect(requests()).toBe(5)
  })

  test('a budget that is spent for the day is not waited for', async () => {
    const model = `daily-${sdk}`
    s.upstreams.provider.script(answered(wire), answered(wire))
    for (let i = 0; i < 2; i++) expect((await call({ sdk, model })).error).toBeNull()
    const { error, seconds } = await call({ sdk, model, retries: 3 })
    expect(error).toMatchObject({ status: 429, message: expect.stringContaining('Rate limit reached') })
    expect(error!.classes[0]).toBe('RateLimitError')
    expect(seconds).toBeLessThan(10)
    expect(requests()).toBe(2)
  })

  test.each<[string, Omit<Call, 'sdk'>, string, number]>([
    ['a wrong key', { model: 'demo', key: 'wrong' }, 'AuthenticationError', 401],
    ['an unknown model', { model: 'gpt-9' }, 'NotFoundError', 404],
    [
      'a model of the other dialect only',
      { model: sdk === 'openai' ? 'only-anthropic' : 'only-openai' },
      'BadRequestError',
      400,
    ],
    ['a provider that cannot be reached', { model: 'refusing' }, 'InternalServerError', 502],
  ])("%s is the SDK's own error", async (_, options, name, status) => {
    const { error } = await call({ sdk, ...options })
    expect(error).toMatchObject({ status, requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(error!.classes[0]).toBe(name)
    if (sdk === 'openai') expect(error!.code).toMatch(/^[a-z_]+$/)
  })

  test('no gateway at all, and one that is too slow', async () => {
    const { error } = await call({ sdk, model: 'demo', url: await refusingUrl() })
    expect(error!.classes[0]).toBe('APIConnectionError')
    s.upstreams.provider.script([stall()])
    const late = await call({ sdk, model: 'scripted', timeout: 0.5 })
    expect(late.error!.classes[0]).toBe('APITimeoutError')
  })

  test.each<[string, Script]>([
    ['reset', [reset()]],
    ['closed', [fin()]],
    ['ended early', [write('0\r\n\r\n')]],
  ])('a stream that is %s after its first content raises', async (_, ending) => {
    const begun = wire.events.slice(0, wire.prelude + 1).map(event => chunk(event))
    s.upstreams.provider.script([write(streamHead(), ...begun), ...ending])
    const { texts, error } = await call({ sdk, model: 'scripted', stream: true, retries: 2 })
    expect(texts).toEqual(['one'])
    expect(error!.classes).toContain('APIError')
    expect(error!.message).toContain('The backend ')
    expect(requests()).toBe(1)
  })
})

test('python, openai: a Retry-After above two minutes is not waited for', async () => {
  const [wire] = DIALECTS
  s.upstreams.provider.script([write(jsonResponse(429, wire!.errorBody('busy'), [['retry-after', '121']]))])
  const { error } = await call({ sdk: 'openai', model: 'scripted', retries: 2 })
  expect(error!.classes[0]).toBe('RateLimitError')
  expect(requests()).toBe(1)
})
