import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Backend, Credential } from '../backends/backend.ts'
import type { Config } from '../config/compile.ts'
import { GatewayError } from '../dialects/errors.ts'
import { isRefusal } from '../limits/limits.ts'
import { idHeaders } from './answer.ts'
import { type AskedFor, estimateTokens, withModel } from './ask.ts'
import { Attempt, type AttemptClient } from './attempt.ts'
import { type Candidate, Candidates, isNamed, pickCredential } from './candidates.ts'
import type { Exchange } from './exchange.ts'
import {
  answerFailure,
  attemptHeaders,
  blamesCredential,
  mayRetry,
  queueRefused,
  rateLimited,
  retryDelayMs,
} from './failure.ts'
import { downstreamHeaders, upstreamHeaders } from './headers.ts'
import type { Failure, Outcome } from './outcome.ts'
import { findRoute, subjectOf } from './route.ts'
import type { Runtime } from './runtime.ts'

/**
 * A body above this is sent as a stream: undici keeps a buffer until the response has ended, which would hold a large
 * prompt in memory for the length of its answer.
 */
const MAX_BUFFERED_BODY = 256 * 1024

/** What the tries of one request have led to so far. */
interface Progress {
  /** The configuration that `candidates` was made from. */
  config: Config
  candidates: Candidates
  tried: Set<Backend>
  failedCredentials: Set<Credential>
  /** The last try that was sent and failed. */
  failure: Failure | null
  /** The last candidate, its credential, and whether it may be tried again. */
  last: Candidate | null
  credential: Credential | null
  resets: number
  /** Why a candidate was passed over: its own limit, or its queue. */
  refusal: GatewayError | null
}

/** Tries candidates until one serves, the tries are used up, or none is left; then answers. */
export async function tryInTurn(runtime: Runtime, exchange: Exchange, ask: AskedFor): Promise<void> {
  const progress: Progress = {
    config: runtime.config,
    candidates: orderCandidates(runtime.config, exchange),
    tried: new Set(),
    failedCredentials: new Set(),
    failure: null,
    last: null,
    credential: null,
    resets: 0,
    refusal: null,
  }
  for (;;) {
    const mark = exchange.mark()
    const candidate = await nextCandidate(runtime, exchange, progress)
    if (!candidate) break
    const outcome = await tryOne(runtime, exchange, ask, candidate, progress)
    exchange.releaseTo(mark)
    if (outcome?.kind === 'Done') return exchange.end('Served')
    exchange.check()
    if (outcome?.kind === 'Broken') {
      exchange.code = outcome.code
      return exchange.end('Failed')
    }
    if (outcome === null || outcome.kind === 'Cancelled') {
      // A backend that has no room or budget for another try of ours would refuse it again, and again.
      if (candidate === progress.last) progress.last = null
      continue
    }
    progress.failure = outcome
    if (!goesOn(exchange, progress, outcome)) break
  }
  answerInEnd(exchange, progress)
}

function orderCandidates(config: Config, exchange: Exchange): Candidates {
  const { route } = exchange.match!
  const pinned = pinnedBackend(exchange)
  const candidates = new Candidates(route, exchange.operation.dialect, pinned, config.unsupported)
  if (candidates.servesDialect) return candidates
  throw new GatewayError(
    'dialect_unsupported',
    `No backend of the model ${JSON.stringify(exchange.model)} speaks the ${exchange.operation.dialect.name} API ` +
      `(${exchange.operation.path}). Use the API of its provider, or another model.`,
  )
}

/** A request may name one of its route's backends. @throws GatewayError invalid_request when it is none of them */
function pinnedBackend(exchange: Exchange): string | undefined {
  const name = exchange.request.headers['x-weir-backend']
  if (typeof name !== 'string') return undefined
  const { targets } = exchange.match!.route
  if (targets.some(target => isNamed(target, name))) return name
  const names = targets.map(({ config }) => config.name).join(', ')
  throw new GatewayError('invalid_request', `x-weir-backend must name a backend of the route: ${names}.`)
}

/**
 * The next candidate: the same backend with another credential, else the next one in order, else one that has failed
 * already, after a wait and within its retry budget.
 */
async function nextCandidate(runtime: Runtime, exchange: Exchange, progress: Progress): Promise<Candidate | null> {
  const { failure, last } = progress
  if (failure && last && blamesCredential(failure) && progress.credential) {
    progress.failedCredentials.add(progress.credential)
    if (last.backend.available && pickCredential(last.backend.config.credentials, progress.failedCredentials))
      return last
  }
  followConfig(runtime, exchange, progress)
  const { retry } = exchange.match!.route.config
  const next = progress.candidates.next()
  // A refused credential is worth another one; the same one again is worth it only where the route says so.
  if (next || !failure || !mayRetry(failure, retry) || !last?.backend.available || !last.backend.startRetry())
    return next
  const { backend } = last
  exchange.own({ close: () => backend.endRetry() })
  const delay = retryDelayMs(failure, exchange.attempts, retry.backoff)
  if (delay === null) return null
  await pause(exchange, delay)
  // All of its credentials have had their turn; without this the next try would be sent without any.
  progress.failedCredentials.clear()
  // During the wait the backend may have gone, or another one have come.
  followConfig(runtime, exchange, progress)
  return progress.candidates.next() ?? (backend.available ? last : null)
}

/** A try that comes after a reload uses the new configuration; the backends that it had tried stay tried. */
function followConfig({ config }: Runtime, exchange: Exchange, progress: Progress): void {
  if (config === progress.config) return
  progress.config = config
  // A tenant's table is that of its configuration: the old one knows only the old routes.
  exchange.tenant = config.tenants.get(exchange.tenant!.config.uid) ?? exchange.tenant
  try {
    exchange.match = findRoute(config, exchange.tenant!, exchange.model, exchange.request.headers)
    progress.candidates = orderCandidates(config, exchange).without(progress.tried)
  } catch (error) {
    // Its route is gone: what was left of the old order still holds for a request that had begun.
    if (!(error instanceof GatewayError)) throw error
  }
}

async function pause(exchange: Exchange, ms: number): Promise<void> {
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, ms)
    exchange.own({
      close: () => {
        clearTimeout(timer)
        resolve()
      },
    })
  })
  exchange.check()
}

/** Queue, slot, connection, response of one candidate. Returns null when it had no room or no budget for us. */
async function tryOne(
  runtime: Runtime,
  exchange: Exchange,
  ask: AskedFor,
  candidate: Candidate,
  progress: Progress,
): Promise<Outcome | null> {
  const { backend } = candidate
  let sent = false
  const charged = runtime.limits.charge([backend.config.uid], subjectOf(exchange))
  if (isRefusal(charged)) {
    progress.refusal = rateLimited(charged, exchange.model)
    return null
  }
  if (charged) exchange.own({ close: () => (sent ? charged.settle(exchange.usage) : charged.refund()) })

  const reference = backend.acquire(candidate.model ?? ask.model, () => exchange.interrupt(drainedAway(backend)))
  exchange.own({ close: () => backend.release(reference) })

  const ticket = exchange.own(
    backend.admission.ask({
      tenant: exchange.tenant!.config.uid,
      tokens: estimateTokens(exchange.body!.bytes.length),
      bytes: exchange.body!.bytes.length,
      maxWaitMs: exchange.match!.route.config.maxWaitMs,
      atHead: exchange.attempts > 0,
    }),
  )
  if (ticket.state === 'Waiting') await ticket.settled()
  exchange.queuedMs += ticket.waitedMs
  exchange.check()
  if (ticket.refusal) {
    progress.refusal = queueRefused(ticket.refusal)
    return null
  }

  sent = true
  exchange.attempts++
  exchange.backendId = backend.id
  const credential = pickCredential(backend.config.credentials, progress.failedCredentials)
  progress.tried.add(backend)
  progress.last = candidate
  progress.credential = credential
  const attempt = new Attempt(clientOf(exchange), backend.config.timeouts)
  exchange.own({
    close: () => attempt.close(exchange.interruption instanceof GatewayError ? exchange.interruption : undefined),
  })
  const bytes = withModel(exchange.body!.bytes, ask, candidate.model)
  const { request, operation } = exchange
  const headers = upstreamHeaders(request.rawHeaders, request.headers, backend.config, credential, exchange.requestId)
  const large = bytes.length > MAX_BUFFERED_BODY
  if (large) headers.push('content-length', String(bytes.length))
  const outcome = await attempt.run({
    transport: backend.transport,
    method: operation.method,
    path: backend.transport.target(operation.upstreamPath, queryOf(request.url!)),
    headers,
    body: large ? Readable.from([bytes]) : bytes,
  })
  exchange.usage = attempt.seen.usage
  runtime.attempted(outcome.kind)
  return outcome
}

function drainedAway(backend: Backend): GatewayError {
  return new GatewayError(
    'no_backend',
    `The backend ${backend.id} was taken out of service and its drain time is over.`,
  )
}

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

/** The client's side of an attempt: the first piece of a response sends the head and frees the request's body. */
function clientOf(exchange: Exchange): AttemptClient {
  const { response, requestId, operation } = exchange
  return {
    dialect: operation.dialect,
    requestId,
    response,
    streamed: exchange.stream,
    commit(status: number, headers: IncomingHttpHeaders) {
      exchange.firstTokenMs = exchange.elapsedMs
      exchange.body!.close()
      response.writeHead(status, [
        ...downstreamHeaders(headers),
        ...idHeaders(operation.dialect, requestId),
        ...attemptHeaders(exchange),
      ])
    },
  }
}

/** Whether another try is wanted and allowed after this failure. */
function goesOn(exchange: Exchange, progress: Progress, failure: Failure): boolean {
  const { retry } = exchange.match!.route.config
  if (exchange.attempts >= retry.attempts) return false
  // The server may have read the request before it closed the connection: once is a risk worth taking, twice is not.
  if (failure.kind === 'Reset' && ++progress.resets > 1) return false
  return mayRetry(failure, retry) || (progress.credential !== null && blamesCredential(failure))
}

/** Nobody served: the upstream's own error if a try brought one, else why no try could be made. */
function answerInEnd(exchange: Exchange, { failure, refusal, credential }: Progress): void {
  if (failure && (failure.kind === 'Status' || !refusal)) answerFailure(exchange, failure, credential !== null)
  else
    throw (
      refusal ??
      new GatewayError('no_backend', `No backend of the model ${JSON.stringify(exchange.model)} is in service.`, {
        retryAfterMs: 1000,
      })
    )
}
