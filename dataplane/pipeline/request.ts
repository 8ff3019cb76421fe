import { GatewayError } from '../dialects/errors.ts'
import { isRefusal } from '../limits/limits.ts'
import { answerError } from './answer.ts'
import { type AskedFor, readAsk } from './ask.ts'
import { authenticate } from './authenticate.ts'
import { discardRest, expectsContinue, readBody } from './body.ts'
import { startDeadline } from './deadline.ts'
import { ClientGone, type Exchange } from './exchange.ts'
import { attemptHeaders, rateLimited } from './failure.ts'
import { findRoute, subjectOf } from './route.ts'
import type { Runtime } from './runtime.ts'
import { tryInTurn } from './tries.ts'

/**
 * The path of a request, from top to bottom. Each step takes what it needs from the exchange and leaves what it found
 * there; what a step acquires is owned by the exchange. Never rejects: every error is answered here.
 */
export async function serve(runtime: Runtime, exchange: Exchange): Promise<void> {
  try {
    authenticateCaller(runtime, exchange)
    const body = await readBody(exchange, runtime.bodyBudget, runtime.maxRequestBytes)
    const ask = readAsk(body.bytes)
    matchRoute(runtime, exchange, ask)
    startDeadline(exchange, exchange.match!.route.config.timeoutMs)
    chargeRequest(runtime, exchange)
    await tryInTurn(runtime, exchange, ask)
  } catch (error) {
    refuse(exchange, error)
  }
}

function authenticateCaller({ config }: Runtime, exchange: Exchange): void {
  exchange.tenant = authenticate(config, exchange.operation.dialect, exchange.request.headers)
}

function matchRoute({ config }: Runtime, exchange: Exchange, ask: AskedFor): void {
  exchange.model = ask.model
  exchange.stream = ask.stream
  exchange.match = findRoute(config, exchange.tenant!, ask.model, exchange.request.headers)
}

/** One request from every limit on the route and on the tenant, all or nothing. */
function chargeRequest({ limits }: Runtime, exchange: Exchange): void {
  const targets = [exchange.match!.route.config.uid, exchange.tenant!.config.uid]
  const result = limits.charge(targets, subjectOf(exchange))
  if (isRefusal(result)) throw rateLimited(result, exchange.model)
  exchange.reservation = result
}

/** Answers an error, where somebody is left to read it and nothing has been sent yet. */
function refuse(exchange: Exchange, error: unknown): void {
  if (error instanceof ClientGone) return
  const refusal = error instanceof GatewayError ? error : unexpected(exchange, error)
  exchange.code = refusal.code
  if (exchange.response.headersSent) {
    // The attempt has ended the response with an error event, or cut it; here only the books are closed.
    if (!exchange.response.writableEnded) exchange.response.destroy()
    exchange.end('Failed')
    return
  }
  const { request, response, operation, requestId } = exchange
  // Without a 100 the client sends no body, so nothing tells where its next request would begin.
  const headers = expectsContinue(request) && !request.complete ? ['connection', 'close'] : []
  if (exchange.attempts > 0) headers.push(...attemptHeaders(exchange))
  answerError(response, operation.dialect, requestId, refusal, headers)
  discardRest(request)
  exchange.end('Refused')
}

function unexpected(exchange: Exchange, error: unknown): GatewayError {
  const stack = error instanceof Error ? error.stack : String(error)
  process.stderr.write(`unexpected error in request ${exchange.requestId}: ${stack}\n`)
  return new GatewayError('internal_error', `The gateway failed. Report this with request id ${exchange.requestId}.`)
}
