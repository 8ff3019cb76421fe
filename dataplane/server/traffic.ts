import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Tenant } from '../config/compile.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { type ErrorCode, GatewayError } from '../dialects/errors.ts'
import { dialectOf, OPERATIONS, type Operation } from '../dialects/operations.ts'
import { answerError, idHeaders } from '../pipeline/answer.ts'
import { discardRest } from '../pipeline/body.ts'
import { getModel, listModels } from './models.ts'
import { answerClientError, OpenResponses, refuseUpgrade } from './unparsed.ts'

/** Longer than the idle timeouts of common load balancers (AWS 60 s, Google 600 s), or they reuse what we just closed. */
const KEEP_ALIVE_MS = 620_000

/** Until the head and the body of a request must have arrived. */
const HEADERS_TIMEOUT_MS = 30_000
const REQUEST_TIMEOUT_MS = 120_000

/** Longest id that is taken over from a caller. */
const REQUEST_ID = /^[\w.:-]{1,128}$/

/** What the traffic port needs of the gateway. */
export interface TrafficHandler {
  readonly closing: boolean
  /** Handles an operation; answers every error itself. */
  serve(operation: Operation, request: IncomingMessage, response: ServerResponse, requestId: string): void
  /** @throws GatewayError invalid_api_key */
  authenticate(dialect: Dialect, request: IncomingMessage): Tenant
  refused(code: ErrorCode): void
}

/**
 * The traffic port. Fastify routes and owns the server's life; the body is left unread and the reply hijacked, so that
 * bytes go between the sockets without its serialisation.
 */
export function trafficServer(handler: TrafficHandler): FastifyInstance {
  const responses = new OpenResponses()
  const app = Fastify({
    logger: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: 64 * 1024,
      // An offer of h2c, which Java's HTTP client makes with every first request, may be ignored (RFC 9110 §7.8).
      shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
    },
    routerOptions: { ignoreTrailingSlash: true },
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    // While closing, kept-alive connections still get an answer in the caller's dialect.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) =>
      answerClientError(error, socket, responses.on(socket), code => handler.refused(code)),
    // A path that cannot be decoded is found out before any route.
    frameworkErrors: (error, request, reply) => answer(handler, request, reply, () => malformed(error)),
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))

  for (const operation of OPERATIONS) {
    app.route({
      method: operation.method,
      url: operation.path,
      handler: (request, reply) => {
        reply.hijack()
        const response = prepare(handler, reply)
        handler.serve(operation, request.raw, response, requestIdOf(request.raw))
      },
    })
  }
  app.get('/v1/models', (request, reply) => answer(handler, request, reply, listModels))
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) =>
    answer(handler, request, reply, (tenant, dialect) => getModel(tenant, dialect, request.params['*'])),
  )
  app.setNotFoundHandler((request, reply) =>
    answer(handler, request, reply, () => {
      throw unknownPath(request)
    }),
  )
  app.setErrorHandler((error, request, reply) => answer(handler, request, reply, () => malformed(error)))
  // Without a listener Node would say 100 before a body that is too large could be refused.
  app.server.on('checkContinue', (request, response) => {
    responses.add(request, response)
    app.routing(request, response)
  })
  app.server.on('request', (request, response) => responses.add(request, response))
  app.server.on('upgrade', (request, socket) => refuseUpgrade(request, socket as Socket, code => handler.refused(code)))
  return app
}

/** While the gateway is closing every answer ends its connection: hijacked replies skip Fastify's own hooks. */
function prepare(handler: TrafficHandler, reply: FastifyReply): ServerResponse {
  if (handler.closing) reply.raw.shouldKeepAlive = false
  return reply.raw
}

function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

/** Answers what needs no backend: a JSON body, or an error in the caller's dialect. */
function answer(
  handler: TrafficHandler,
  request: FastifyRequest,
  reply: FastifyReply,
  produce: (tenant: Tenant, dialect: Dialect) => unknown,
): void {
  reply.hijack()
  const response = prepare(handler, reply)
  const requestId = requestIdOf(request.raw)
  const dialect = dialectOf(request.url, request.headers)
  try {
    const known = request.is404 ? null : handler.authenticate(dialect, request.raw)
    const body = Buffer.from(JSON.stringify(produce(known as Tenant, dialect)))
    const headers = ['content-type', 'application/json', 'content-length', String(body.length)]
    response.writeHead(200, [...headers, ...idHeaders(dialect, requestId)]).end(body)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    handler.refused(error.code)
    answerError(response, dialect, requestId, error)
  }
  discardRest(request.raw)
}

function malformed(error: unknown): never {
  throw new GatewayError('invalid_request', error instanceof Error ? error.message : 'The request is malformed.')
}

function unknownPath(request: FastifyRequest): GatewayError {
  const path = request.url.split('?')[0]!.replace(/(.)\/+$/, '$1')
  const known = OPERATIONS.find(operation => operation.path === path)
  const allow = known ? known.method : path === '/v1/models' || path.startsWith('/v1/models/') ? 'GET' : null
  if (allow) {
    return new GatewayError('method_not_allowed', `${path} takes ${allow}, not ${request.method}.`, {
      headers: { allow },
    })
  }
  if (path === '/v1/realtime') {
    return new GatewayError('not_implemented', 'The Realtime API is not served by this gateway.')
  }
  const paths = [...OPERATIONS.map(operation => `${operation.method} ${operation.path}`), 'GET /v1/models']
  return new GatewayError(
    'not_found',
    `There is no ${request.method} ${path} here. This gateway serves ${paths.join(', ')}.`,
  )
}
