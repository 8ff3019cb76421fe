import { describe, expect, test } from 'vitest'
import { routeOf } from '../testdata/objects.ts'
import { blamesCredential, mayRetry, queueRefused, rateLimited, retryDelayMs } from './failure.ts'
import type { Failure } from './outcome.ts'

const status = (code: number, headers = {}): Failure => ({
  kind: 'Status',
  answer: { status: code, headers, body: Buffer.alloc(0) },
})
const { retry } = routeOf('r')
const backoff = { baseMs: 50, maxMs: 2000 }

test('another try follows the kinds of failure and the codes that the route names', () => {
  const kinds = ['Connect', 'Timeout', 'Reset', 'BadResponse'] as const
  expect(kinds.map(kind => mayRetry({ kind, reason: '' }, retry))).toEqual([true, false, true, true])
  expect([429, 503, 500, 400].map(code => mayRetry(status(code), retry))).toEqual([true, true, false, false])
})

test('a key is blamed by 401, 403 and 429 alone', () => {
  expect([401, 403, 429, 400, 404, 500].filter(code => blamesCredential(status(code)))).toEqual([401, 403, 429])
  expect(blamesCredential({ kind: 'Reset', reason: '' })).toBe(false)
})

describe('the wait before the same backend', () => {
  test('doubles up to its bound, with jitter', () => {
    for (const [attempts, most] of [
      [1, 50],
      [2, 100],
      [10, 2000],
    ] as const) {
      for (let i = 0; i < 50; i++) {
        const delay = retryDelayMs({ kind: 'Reset', reason: '' }, attempts, backoff)!
        expect(delay).toBeGreaterThanOrEqual(0)
        expect(delay).toBeLessThanOrEqual(most)
      }
    }
  })

  test.each([
    ['seconds', { 'retry-after': '1' }, 1000],
    ['milliseconds, which are read first', { 'retry-after': '9', 'retry-after-ms': '1500' }, 1500],
    ['a longer wait than the route allows', { 'retry-after': '7' }, null],
    ['a date', { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }, null],
  ])('keeps to Retry-After: %s', (_, headers, expected) => {
    const delay = retryDelayMs(status(503, headers), 1, backoff)
    if (expected === null) expect(delay).toBeNull()
    else expect(delay).toBe(expected)
  })

  test('an unreadable Retry-After asks for nothing', () => {
    expect(retryDelayMs(status(503, { 'retry-after': 'soon' }), 1, backoff)).toBeLessThanOrEqual(50)
  })
})

test('a refusal says which limit it was and when to come back', () => {
  const error = rateLimited({ policy: 'apps/p', limit: 'rpm', max: 600, remaining: 0, resetMs: 41_724 }, 'gpt-4o')
  expect(error.message).toBe(
    'Rate limit reached for gpt-4o on requests (limit "rpm" of apps/p): Limit 600, Used 600. Please try again in 41.724s.',
  )
  expect(error).toMatchObject({ code: 'rate_limit_exceeded', details: { retryAfterMs: 41_724 } })
})

test('a full queue and a wait that is over are different codes; only the own share is a 429', () => {
  const refusal = { retryAfterMs: 2500, ownShare: false }
  expect(queueRefused({ ...refusal, reason: 'Full' })).toMatchObject({
    code: 'queue_full',
    details: { status: undefined },
  })
  expect(queueRefused({ ...refusal, reason: 'Full', ownShare: true }).details.status).toBe(429)
  expect(queueRefused({ ...refusal, reason: 'Waited' })).toMatchObject({
    code: 'overloaded',
    details: { retryAfterMs: 2500 },
  })
})
