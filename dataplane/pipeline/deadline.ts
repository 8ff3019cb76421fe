import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../dialects/errors.ts'
import type { Exchange } from './exchange.ts'

/** Longest wait that a timer takes (31 bits of milliseconds). */
const MAX_TIMER_MS = 0x7fffffff

/**
 * Ends the request at the smallest of the route's timeout and what the caller asks for: `x-request-timeout-ms`, or
 * `x-stainless-timeout` (seconds), which the official SDKs send. Counted from the arrival of the request.
 *
 * @throws GatewayError invalid_request when x-request-timeout-ms is no positive number
 */
export function startDeadline(exchange: Exchange, routeTimeoutMs: number): void {
  const ms = Math.min(routeTimeoutMs, requestedMs(exchange.request.headers), MAX_TIMER_MS)
  const timer = setTimeout(
    () => exchange.interrupt(new GatewayError('deadline_exceeded', `The request took longer than its ${ms} ms.`)),
    // Whole milliseconds: Node keeps a list, and a string to find it by, for every different duration.
    Math.ceil(Math.max(0, ms - exchange.elapsedMs)),
  )
  exchange.own({ close: () => clearTimeout(timer) })
}

function requestedMs(headers: IncomingHttpHeaders): number {
  const own = headers['x-request-timeout-ms']
  if (own !== undefined) {
    const ms = Number(own)
    if (ms > 0) return ms
    throw new GatewayError('invalid_request', 'x-request-timeout-ms must be a number of milliseconds above 0.')
  }
  const seconds = Number(headers['x-stainless-timeout'])
  return seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY
}
