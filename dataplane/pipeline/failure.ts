import type { Refusal } from '../admission/admission.ts'
import type { RouteConfig } from '../config/snapshot.ts'
import { isObject, parseObject } from '../dialects/dialect.ts'
import { GatewayError } from '../dialects/errors.ts'
import type { LimitRefusal } from '../limits/limits.ts'
import { relayError } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { downstreamHeaders } from './headers.ts'
import type { Failure, HeldAnswer } from './outcome.ts'

/** Whether the route wants another try after this failure. */
export function mayRetry(failure: Failure, retry: RouteConfig['retry']): boolean {
  if (failure.kind === 'Status') return retry.codes.includes(failure.answer.status)
  return retry.failures.includes(failure.kind)
}

/** An answer that blames the key which the gateway sent, not the caller. */
export function blamesCredential(failure: Failure): boolean {
  return failure.kind === 'Status' && [401, 403, 429].includes(failure.answer.status)
}

/**
 * Wait before the same backend is tried again: doubling, with full jitter, but never shorter than the backend asks for;
 * null where that is longer than the route's longest.
 */
export function retryDelayMs(
  failure: Failure,
  attempts: number,
  backoff: RouteConfig['retry']['backoff'],
): number | null {
  const asked = failure.kind === 'Status' ? retryAfterMs(failure.answer) : 0
  if (asked > backoff.maxMs) return null
  return Math.max(asked, Math.random() * Math.min(backoff.maxMs, backoff.baseMs * 2 ** (attempts - 1)))
}

/** What an upstream's `Retry-After` asks for, in milliseconds; 0 where it asks for nothing that we can read. */
function retryAfterMs({ headers }: HeldAnswer): number {
  const precise = Number(headers['retry-after-ms'])
  if (precise > 0) return precise
  const value = headers['retry-after']
  if (!value) return 0
  const seconds = Number(value)
  if (seconds >= 0) return seconds * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now())
}

export function rateLimited(refusal: LimitRefusal, model: string): GatewayError {
  const seconds = Math.max(0.001, refusal.resetMs / 1000)
  return new GatewayError(
    'rate_limit_exceeded',
    `Rate limit reached for ${model} on requests (limit "${refusal.limit}" of ${refusal.policy}): ` +
      `Limit ${refusal.max}, Used ${refusal.max - refusal.remaining}. Please try again in ${seconds.toFixed(3)}s.`,
    { retryAfterMs: refusal.resetMs },
  )
}

export function queueRefused(refusal: Refusal): GatewayError {
  const seconds = Math.ceil(refusal.retryAfterMs / 1000)
  const [code, what] =
    refusal.reason === 'Waited'
      ? (['overloaded', 'The request waited for a free slot as long as its route allows'] as const)
      : (['queue_full', 'All backends of this model are busy and their queues are full'] as const)
  return new GatewayError(code, `${what}. Try again in about ${seconds} s.`, {
    retryAfterMs: refusal.retryAfterMs,
    status: refusal.ownShare ? 429 : undefined,
  })
}

/** Answers with what the last try brought: the upstream's own error where it is one, else ours about it. */
export function answerFailure(exchange: Exchange, failure: Failure, hasCredential: boolean): void {
  const answer = 'answer' in failure ? failure.answer : undefined
  if (answer && !(hasCredential && (answer.status === 401 || answer.status === 403)) && isRelayable(exchange, answer)) {
    exchange.code = 'upstream_error'
    relayError(exchange.response, exchange.operation.dialect, exchange.requestId, answer, attemptHeaders(exchange))
    exchange.end('Refused')
    return
  }
  throw failureError(exchange, failure, hasCredential)
}

export function attemptHeaders(exchange: Exchange): string[] {
  return ['x-weir-backend', exchange.backendId, 'x-weir-attempts', String(exchange.attempts)]
}

/** Only an error in the caller's own dialect passes; HTML pages and other shapes would break its parser. */
function isRelayable(exchange: Exchange, answer: HeldAnswer): boolean {
  const body = parseObject(answer.body.toString('utf8'))
  return isObject(body) && exchange.operation.dialect.isErrorBody(body)
}

function failureError(exchange: Exchange, failure: Failure, hasCredential: boolean): GatewayError {
  const backend = `The backend ${exchange.backendId}`
  switch (failure.kind) {
    case 'Connect':
      return new GatewayError('upstream_error', `${backend} could not be reached.`)
    case 'Reset':
      return new GatewayError('upstream_error', `${backend} closed the connection before it answered.`)
    case 'Timeout':
      return new GatewayError('upstream_timeout', `${backend} did not answer in time (${failure.reason}).`)
    case 'BadResponse':
      return new GatewayError('upstream_error', `${backend} gave no valid answer: ${failure.reason}.`)
    case 'Status': {
      const { status } = failure.answer
      if (hasCredential && (status === 401 || status === 403)) {
        return new GatewayError(
          'upstream_error',
          `${backend} refused the gateway's credential (status ${status}). Your own key is fine; tell the operators.`,
        )
      }
      return new GatewayError('upstream_error', `${backend} answered with status ${status}.`, {
        status,
        headers: retryAfterOf(failure.answer),
      })
    }
  }
}

/** What an upstream asks of its callers holds for ours too. */
function retryAfterOf(answer: HeldAnswer): Record<string, string> {
  const headers = downstreamHeaders({
    'retry-after': answer.headers['retry-after'],
    'retry-after-ms': answer.headers['retry-after-ms'],
    'x-should-retry': answer.headers['x-should-retry'],
  })
  return Object.fromEntries(headers.flatMap((value, i) => (i % 2 ? [] : [[value, headers[i + 1]!]])))
}
