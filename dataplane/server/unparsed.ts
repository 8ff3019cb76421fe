import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Dialect } from '../dialects/dialect.ts'
import type { ErrorCode } from '../dialects/errors.ts'
import { openai } from '../dialects/openai.ts'
import { dialectOf } from '../dialects/operations.ts'

/** Told of every refusal. */
type Refused = (code: ErrorCode) => void

/**
 * The responses that are not finished, by connection: an error that is about the connection must not be written into the
 * middle of one.
 */
export class OpenResponses {
  /** Lists, one or two responses long: a Set that comes and goes with requests costs dearly (decision 0005). */
  readonly #bySocket = new WeakMap<Socket, ServerResponse[]>()

  add(request: IncomingMessage, response: ServerResponse): void {
    const open = this.#bySocket.get(request.socket)
    if (!open) {
      this.#bySocket.set(request.socket, [response])
      return
    }
    // A connection has more than one only while a client pipelines; what has ended goes when the next one comes.
    while (open[0]?.writableFinished) open.shift()
    open.push(response)
  }

  on(socket: Socket): ServerResponse[] {
    return (this.#bySocket.get(socket) ?? []).filter(response => !response.writableFinished)
  }
}

/** WebSockets, and with them the Realtime API, are not served. */
export function refuseUpgrade(request: IncomingMessage, socket: Socket, refused: Refused): void {
  refused('not_implemented')
  const dialect = dialectOf(request.url ?? '', request.headers)
  const message = 'WebSocket and other upgrades are not served by this gateway. Use plain HTTP requests.'
  writeRaw(socket, 501, dialect, 'not_implemented', message, 'x-should-retry: false\r\n')
}

/**
 * What Node could not parse: a request that never became one, or the body of one that is being read. It is answered on
 * the socket itself, or cut where an answer has begun.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  responses: ServerResponse[],
  refused: Refused,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || responses.some(({ headersSent }) => headersSent)) {
    socket.destroy()
    return
  }
  const [code, status, message]: [ErrorCode, number, string] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['headers_too_large', 431, 'The headers are larger than 64 KiB.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['request_timeout', 408, 'The request did not arrive in time.']
        : ['invalid_request', 400, `This is no valid HTTP/1.1 request (${error.code ?? error.message}).`]
  refused(code)
  const request = responses[0]?.req
  writeRaw(socket, status, request ? dialectOf(request.url ?? '', request.headers) : openai, code, message)
}

function writeRaw(
  socket: Socket,
  status: number,
  dialect: Dialect,
  code: ErrorCode,
  message: string,
  extra = '',
): void {
  const requestId = randomUUID()
  const body = dialect.errorBody(code, message, undefined, requestId)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\nx-weir-code: ${code}\r\n` +
      `${extra}connection: close\r\n\r\n${body}`,
  )
}
