import { describe, expect, test } from 'vitest'
import { chunk, cutAt, jsonResponse, response } from '../fakes/bytes.ts'
import { streamHead } from '../fakes/sse.ts'
import { fin, reset, type Script, write } from '../fakes/steps.ts'
import { SDKS, type SdkOptions, thrown } from './sdk-clients.ts'
import { sdkStage } from './sdk-stage.ts'
import { answered } from './wire-dialect.ts'

const s = sdkStage()
const here = (rest: Partial<SdkOptions> = {}): SdkOptions => ({ url: s.weir.url, ...rest })

/** Milliseconds that a call took, and how many requests the provider got. */
async function measured(call: () => Promise<unknown>): Promise<{ ms: number; requests: number }> {
  const started = performance.now()
  await call()
  return { ms: performance.now() - started, requests: s.requests('provider').length }
}

describe.each(SDKS)('retries, $name', sdk => {
  const { ask, wire, errors } = sdk
  const [briefly, daily] = [`briefly-${sdk.name}`, `daily-${sdk.name}`]
  const failing = (status: number, ...headers: [string, string][]): Script => [
    write(jsonResponse(status, wire.errorBody('busy'), headers)),
  ]

  test("a provider's retry-after-ms is obeyed, and goes before its Retry-After", async () => {
    s.upstreams.provider.script(failing(429, ['retry-after-ms', '900'], ['retry-after', '30']), answered(wire))
    const { ms, requests } = await measured(() => ask('scripted', here({ maxRetries: 1 })))
    expect(requests).toBe(2)
    expect(ms).toBeGreaterThanOrEqual(890)
    expect(ms).toBeLessThan(10_000)
  })

  test("a provider's Retry-After is obeyed", async () => {
    s.upstreams.provider.script(failing(503, ['retry-after', '1']), answered(wire))
    const { ms, requests } = await measured(() => ask('scripted', here({ maxRetries: 1 })))
    expect(requests).toBe(2)
    expect(ms).toBeGreaterThanOrEqual(990)
  })

  test("a provider's x-should-retry is obeyed, both ways", async () => {
    s.upstreams.provider.script(failing(503, ['x-should-retry', 'false']))
    const refused = await measured(() => thrown(ask('scripted', here({ maxRetries: 2 }))))
    expect(refused.requests).toBe(1)
    s.upstreams.provider.script(failing(418, ['x-should-retry', 'true'], ['retry-after-ms', '10']), answered(wire))
    const served = await measured(() => ask('scripted', here({ maxRetries: 2 })))
    expect(served.requests).toBe(3)
  })

  test('x-should-retry and Retry-After pass with an error that is not in the dialect, too', async () => {
    const page = response(
      503,
      [
        ['x-should-retry', 'false'],
        ['retry-after', '1'],
      ],
      '<h1>no</h1>',
    )
    s.upstreams.provider.script([write(page)])
    const { requests } = await measured(() => thrown(ask('scripted', here({ maxRetries: 2 }))))
    expect(requests).toBe(1)
  })

  test("a refusal by the gateway's own rate limit is waited out", async () => {
    s.upstreams.provider.script(...Array.from({ length: 5 }, () => answered(wire)))
    // Two a window: wherever the window turns, five in a row meet its limit.
    for (let i = 0; i < 5; i++) await ask(briefly, here({ maxRetries: 1 }))
    expect(s.requests('provider')).toHaveLength(5)
    await s.weir.waitForLog(({ model, status }) => model === briefly && status === 429)
  })

  test('a budget that is spent for the day is not waited for', async () => {
    s.upstreams.provider.script(answered(wire), answered(wire))
    const patient = here({ maxRetries: 3 })
    const { ms, requests } = await measured(async () => {
      for (let i = 0; i < 2; i++) await ask(daily, patient)
      const error = await thrown(ask(daily, patient))
      expect(error).toBeInstanceOf(errors.RateLimitError)
      expect(error.headers?.get('x-should-retry')).toBe('false')
      expect(error.message).toContain('Rate limit reached')
    })
    expect(requests).toBe(2)
    expect(ms).toBeLessThan(10_000)
    await s.weir.waitForLog(({ model, status }) => model === daily && status === 429)
    expect(s.weir.logs.filter(({ model }) => model === daily)).toHaveLength(3)
  })
})

describe.each(SDKS)('a broken stream raises, $name', ({ ask, stream, errors, wire, name }) => {
  const begun = wire.events.slice(0, wire.prelude + 1).map(event => chunk(event))
  test.each<[string, Script]>([
    ['reset', [write(streamHead(), ...begun), reset()]],
    ['closed', [write(streamHead(), ...begun), fin()]],
    ['ended early', [write(streamHead(), ...begun, '0\r\n\r\n')]],
    ['an error event', [write(streamHead(), ...begun, chunk(wire.errorEvent('broken by the provider')), '0\r\n\r\n')]],
  ])('%s after its first content', async (what, script) => {
    s.upstreams.provider.script(script)
    const texts: string[] = []
    const error = await thrown(stream('scripted', here({ maxRetries: 2 }), texts))
    expect(texts.join('')).toBe('one')
    expect(error).toBeInstanceOf(errors.APIError)
    const own = what === 'an error event'
    expect(error.message).toContain(own ? 'broken by the provider' : 'The backend ')
    if (name === 'openai') expect(error.code).toBe(own ? 'broken' : 'upstream_error')
    else expect(error.type).toBe(own ? 'overloaded_error' : 'api_error')
    expect(s.requests('provider')).toHaveLength(1)
  })

  test('an answer that is cut after it has begun to pass', async () => {
    const text = 'x'.repeat(200_000)
    const whole = jsonResponse(200, { id: 'a', text })
    s.upstreams.provider.script([write(cutAt(whole, [150_000])[0]!), reset()])
    const error = await thrown(ask('scripted', here()))
    expect(error).toBeInstanceOf(Error)
  })
})
