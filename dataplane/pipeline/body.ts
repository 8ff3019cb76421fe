import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../dialects/errors.ts'
import type { Exchange, Owned } from './exchange.ts'

/** Largest request body: what fits a few images as data URLs. */
export const MAX_REQUEST_BYTES = 16 * 1024 * 1024

/** Request bodies that one gateway keeps in memory at a time, from headers until commit. */
export const BODY_BUDGET_BYTES = 256 * 1024 * 1024

/** How long the rest of a refused body is read and thrown away, so that the client gets to read the refusal. */
const DISCARD_MS = 1000

/** Bytes of request bodies in memory, over all requests. */
export class BodyBudget {
  used = 0
  readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /** Takes bytes if they fit. */
  take(bytes: number): boolean {
    if (this.used + bytes > this.limit) return false
    this.used += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.used -= bytes
  }
}

/** A request's body; closing frees its bytes for others. */
export class RequestBody implements Owned {
  #bytes: Buffer | null = null
  #taken = 0
  readonly #budget: BodyBudget
  /** Ends a read that is under way. */
  #stopReading: (() => void) | null = null

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** The bytes; available until the body is closed. */
  get bytes(): Buffer {
    if (!this.#bytes) throw new Error('the body was released')
    return this.#bytes
  }

  /** `accept` is called once the declared length is let in, before anything is read. */
  async read(request: IncomingMessage, maxBytes: number, accept: () => void): Promise<void> {
    const declared = Number(request.headers['content-length'] ?? 0)
    if (declared > maxBytes) throw tooLarge(maxBytes)
    this.#take(declared)
    accept()
    const chunks: Buffer[] = []
    let size = 0
    await new Promise<void>((resolve, reject) => {
      const onData = (chunk: Buffer) => {
        size += chunk.length
        try {
          if (size > maxBytes) throw tooLarge(maxBytes)
          // Without a declared length the budget is charged as bytes come.
          if (size > this.#taken) this.#take(size - this.#taken)
          chunks.push(chunk)
        } catch (error) {
          stop()
          reject(error)
        }
      }
      const onEnd = () => {
        stop()
        resolve()
      }
      const stop = () => {
        this.#stopReading = null
        request.off('data', onData).off('end', onEnd)
      }
      this.#stopReading = onEnd
      request.on('data', onData).on('end', onEnd)
    })
    this.#bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  close(): void {
    this.#bytes = null
    this.#budget.giveBack(this.#taken)
    this.#taken = 0
    this.#stopReading?.()
  }

  #take(bytes: number): void {
    if (!this.#budget.take(bytes)) {
      throw new GatewayError('body_budget_exhausted', 'The gateway holds too many large requests; try again shortly.', {
        retryAfterMs: 1000,
      })
    }
    this.#taken += bytes
  }
}

/** Reads the whole body into memory, within the request's and the gateway's bounds. */
export async function readBody(exchange: Exchange, budget: BodyBudget, maxBytes: number): Promise<RequestBody> {
  const body = exchange.own(new RequestBody(budget))
  exchange.body = body
  const { request, response } = exchange
  refuseEncoding(request)
  await body.read(request, maxBytes, () => {
    if (expectsContinue(request)) response.writeContinue()
  })
  exchange.check()
  return body
}

export function expectsContinue(request: IncomingMessage): boolean {
  return request.headers.expect?.toLowerCase() === '100-continue'
}

/** Reads what is left of a refused request's body for a moment and throws it away; then cuts the connection. */
export function discardRest(request: IncomingMessage): void {
  if (request.complete) return
  request.resume()
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy()
  }, DISCARD_MS)
  request.once('close', () => clearTimeout(timer))
}

/** A compressed body would hide its model, and its size from the limit. */
function refuseEncoding(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return
  throw new GatewayError(
    'invalid_request',
    `Send the request body without Content-Encoding (it came as ${encoding}).`,
    {
      status: 415,
    },
  )
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(
    'request_too_large',
    `The request body is larger than ${maxBytes / 1024 / 1024} MiB. Send less text or smaller images.`,
  )
}
