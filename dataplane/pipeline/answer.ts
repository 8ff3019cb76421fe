import type { ServerResponse } from 'node:http'
import type { Dialect } from '../dialects/dialect.ts'
import type { GatewayError } from '../dialects/errors.ts'
import { downstreamHeaders } from './headers.ts'
import type { HeldAnswer } from './outcome.ts'

/** Longest wait that SDKs are let to sleep through by themselves; for a longer one the caller should decide. */
const MAX_SDK_WAIT_MS = 60_000

/** Share of the wait that is added at random, so that refused callers do not come back in step. */
const JITTER = 0.1

/** Headers that tell a client when to come back: `retry-after-ms` for SDKs that read it, `Retry-After` for all. */
export function retryHeaders(retryAfterMs: number | undefined, shouldRetry: boolean | undefined): string[] {
  const headers: string[] = []
  if (retryAfterMs !== undefined) {
    const wait = Math.ceil(retryAfterMs * (1 + JITTER * Math.random()))
    headers.push('retry-after-ms', String(wait), 'retry-after', String(Math.max(1, Math.ceil(wait / 1000))))
    // Official SDKs sleep for as long as they are told, without a cap.
    if (shouldRetry === undefined && wait > MAX_SDK_WAIT_MS) shouldRetry = false
  }
  if (shouldRetry !== undefined) headers.push('x-should-retry', String(shouldRetry))
  return headers
}

/** The request's id, wherever the caller's SDK looks for it. */
export function idHeaders(dialect: Dialect, requestId: string): string[] {
  return dialect.idHeaders.flatMap(name => [name, requestId])
}

/** Answers with one of the gateway's own errors, in the caller's dialect. */
export function answerError(
  response: ServerResponse,
  dialect: Dialect,
  requestId: string,
  error: GatewayError,
  headers: string[] = [],
): void {
  const { param, status, retryAfterMs, shouldRetry } = error.details
  const body = Buffer.from(dialect.errorBody(error.code, error.message, param, requestId))
  response.writeHead(dialect.status(error.code, status), [
    ...headers,
    ...['content-type', 'application/json', 'content-length', String(body.length)],
    ...idHeaders(dialect, requestId),
    ...['x-weir-code', error.code],
    ...Object.entries(error.details.headers ?? {}).flat(),
    // SDKs retry every 5xx; nothing will change for a request that this gateway cannot serve at all.
    ...retryHeaders(retryAfterMs, shouldRetry ?? (error.code === 'not_implemented' ? false : undefined)),
  ])
  response.end(body)
}

/** Passes on an upstream's own error, a JSON object: its status, headers and bytes. */
export function relayError(
  response: ServerResponse,
  dialect: Dialect,
  requestId: string,
  answer: HeldAnswer,
  headers: string[],
): void {
  const { 'content-type': type = '' } = answer.headers
  // The body was decoded and is whole, and it may come from an event: what it was framed with no longer holds.
  const framing = {
    'content-encoding': undefined,
    'content-length': undefined,
    'content-type': type.includes('json') ? type : 'application/json',
  }
  response.writeHead(answer.status, [
    ...headers,
    ...downstreamHeaders({ ...answer.headers, ...framing }),
    ...idHeaders(dialect, requestId),
    ...['content-length', String(answer.body.length), 'x-weir-code', 'upstream_error'],
  ])
  response.end(answer.body)
}
