import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Transport } from '../backends/transport.ts'
import { monotonicMs } from '../clock.ts'
import type { BackendConfig } from '../config/snapshot.ts'
import type { Dialect, Observation } from '../dialects/dialect.ts'
import type { ErrorCode, GatewayError } from '../dialects/errors.ts'
import { decode } from './decode.ts'
import type { Outcome } from './outcome.ts'
import { JsonResponse } from './response-json.ts'
import { OpaqueResponse } from './response-opaque.ts'
import { StreamResponse } from './response-stream.ts'

/** Bytes of an error's body that are read; longer ones are cut and replaced by our own. */
const MAX_ERROR_BYTES = 64 * 1024

/** How long an error's body may take once its status is known. */
const ERROR_BODY_MS = 1000

export interface AttemptRequest {
  transport: Transport
  method: Dispatcher.HttpMethod
  path: string
  headers: string[]
  body: Buffer | Readable
}

/** What an attempt needs of the request it belongs to. */
export interface AttemptClient {
  readonly dialect: Dialect
  readonly requestId: string
  readonly response: ServerResponse
  /** Whether the client asked for a stream; decides which timeouts apply. */
  readonly streamed: boolean
  /** Called once, when the response begins to pass: sends the head, frees what only a retry would need. */
  commit(status: number, headers: IncomingHttpHeaders): void
}

/** The part of an attempt that handles a response with a good status, by its content type. */
export interface ResponseBody {
  /** Takes a piece; returns false to be paused until the client has drained. */
  data(chunk: Buffer): boolean
  /** The upstream ended the response properly. */
  end(): Outcome
  /** The response was cut. `message` and `code` are for the client, if it has seen the beginning. */
  cut(reason: string, error: { code: ErrorCode; message: string }): Outcome
  /** When this body wants to be woken (ms, monotonic), and what it does then; returns an outcome if that ends it. */
  wakeAt(): number
  wake(now: number): Outcome | null
}

/**
 * One try of one backend: sent → held → committed → ended. Until the commit nothing has reached the client and every
 * failure is an outcome that another try may mend; after it a failure ends the response in the client's dialect.
 * Closing an attempt that runs closes its upstream connection.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly seen: Observation = { usage: null, finished: false, terminated: false, failed: false }
  readonly #client: AttemptClient
  readonly #timeouts: BackendConfig['timeouts']
  readonly #startedAt = monotonicMs()
  #controller: Dispatcher.DispatchController | null = null
  #settle!: (outcome: Outcome) => void
  #ended = false
  #status = 0
  #headers: IncomingHttpHeaders = {}
  /** Set while a good response is handled; an error's body is collected in `#errorBody`. */
  #body: ResponseBody | null = null
  #errorBody: Buffer[] = []
  #errorBytes = 0
  #errorAt = 0
  #lastByteAt = this.#startedAt
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY

  constructor(client: AttemptClient, timeouts: BackendConfig['timeouts']) {
    this.#client = client
    this.#timeouts = timeouts
  }

  /** Sends the request; resolves with the outcome. Never rejects. */
  run({ transport, ...options }: AttemptRequest): Promise<Outcome> {
    return new Promise(resolve => {
      this.#settle = resolve
      this.#arm()
      transport.dispatch(options, this)
    })
  }

  /** Ends the attempt from our side; `cause` is told to a client that has seen the beginning of the response. */
  close(cause?: GatewayError): void {
    if (this.#ended) return
    if (cause) this.#body?.cut('cancelled', cause)
    this.#finish({ kind: 'Cancelled' })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#ended) controller.abort(new Error('cancelled'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#ended || status < 200) return
    this.#lastByteAt = monotonicMs()
    this.#status = status
    this.#headers = headers
    if (status >= 300) {
      this.#errorAt = this.#lastByteAt
    } else if (isEventStream(headers)) {
      this.#body = isCompressed(headers)
        ? new OpaqueResponse(this.#client, status, headers)
        : new StreamResponse(this.#client, status, headers, this.seen)
    } else {
      this.#body = new JsonResponse(this.#client, status, headers, this.seen)
    }
    this.#arm()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return
    this.#lastByteAt = monotonicMs()
    if (!this.#body) {
      this.#collectError(chunk)
      return
    }
    if (!this.#body.data(chunk)) {
      controller.pause()
      this.#client.response.once('drain', () => {
        this.#lastByteAt = monotonicMs()
        controller.resume()
        this.#arm()
      })
    }
    // A body may end itself (an error event before the commit) or want to be woken earlier than before.
    const now = this.#body.wakeAt()
    if (now <= this.#lastByteAt) this.#onTimer()
    else if (now < this.#timerAt) this.#arm()
  }

  onResponseEnd(): void {
    if (this.#ended) return
    this.#finish(this.#body ? this.#body.end() : this.#statusOutcome(), true)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#ended) return
    const reason = reasonOf(error)
    if (!this.#controller) {
      this.#finish({ kind: 'Connect', reason })
    } else if (this.#body) {
      this.#finish(this.#body.cut(reason, { code: 'upstream_error', message: 'The backend closed the connection.' }))
    } else if (this.#status) {
      this.#finish(this.#statusOutcome())
    } else if (/^(HPE_|UND_ERR_HEADERS_OVERFLOW)/.test((error as NodeJS.ErrnoException).code ?? '')) {
      this.#finish({ kind: 'BadResponse', reason })
    } else {
      this.#finish({ kind: 'Reset', reason })
    }
  }

  #collectError(chunk: Buffer): void {
    this.#errorBytes += chunk.length
    if (this.#errorBytes > MAX_ERROR_BYTES) this.#finish(this.#statusOutcome())
    else this.#errorBody.push(chunk)
  }

  #statusOutcome(): Outcome {
    if (this.#status < 400) return { kind: 'BadResponse', reason: `it answered with status ${this.#status}` }
    const body = decode(Buffer.concat(this.#errorBody), this.#headers['content-encoding']) ?? Buffer.alloc(0)
    return { kind: 'Status', answer: { status: this.#status, headers: this.#headers, body } }
  }

  /** One timer for all deadlines of the attempt: it is set to the nearest, and looks again when it fires. */
  #arm(): void {
    if (this.#ended) return
    clearTimeout(this.#timer)
    this.#timerAt = Math.min(this.#deadline().at, this.#body?.wakeAt() ?? Number.POSITIVE_INFINITY)
    this.#timer = setTimeout(() => this.#onTimer(), Math.max(0, Math.ceil(this.#timerAt - monotonicMs())))
  }

  #deadline(): { at: number; name: string; reason: string } {
    const { connectMs, firstByteMs, idleMs, totalMs } = this.#timeouts
    const total = { at: this.#startedAt + totalMs, name: 'total', reason: `no complete answer within ${totalMs} ms` }
    let nearest = total
    if (!this.#controller) {
      // undici's own timer of the connection is only good to half a second.
      nearest = { at: this.#startedAt + connectMs, name: 'connect', reason: `no connection within ${connectMs} ms` }
    } else if (this.#errorAt) {
      nearest = { at: this.#errorAt + ERROR_BODY_MS, name: 'error', reason: 'the body of the error did not come' }
    } else if (this.#client.streamed && !this.#status) {
      const at = this.#startedAt + firstByteMs
      nearest = { at, name: 'firstByte', reason: `no first byte within ${firstByteMs} ms` }
    } else if (this.#client.streamed && !this.#controller?.paused) {
      nearest = { at: this.#lastByteAt + idleMs, name: 'idle', reason: `silence for ${idleMs} ms` }
    }
    return nearest.at < total.at ? nearest : total
  }

  #onTimer(): void {
    if (this.#ended) return
    const now = monotonicMs()
    const { at, name, reason } = this.#deadline()
    if (now >= at) {
      this.#finish(this.#timedOut(name, reason))
      return
    }
    if (this.#body && now >= this.#body.wakeAt()) {
      const outcome = this.#body.wake(now)
      if (outcome) {
        this.#finish(outcome)
        return
      }
    }
    this.#arm()
  }

  #timedOut(name: string, reason: string): Outcome {
    if (name === 'error') return this.#statusOutcome()
    if (name === 'connect') return { kind: 'Connect', reason }
    const timeout = { kind: 'Timeout', reason: `${name}: ${reason}` } as const
    if (!this.#body) return timeout
    const message = `The backend was too slow: ${reason}.`
    const outcome = this.#body.cut(timeout.reason, { code: 'upstream_timeout', message })
    return outcome.kind === 'Reset' ? timeout : outcome
  }

  /** `whole`: the upstream has ended its response, so that the connection can serve the next request. */
  #finish(outcome: Outcome, whole = false): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    if (!whole) this.#controller?.abort(new Error('the gateway ended the attempt'))
    this.#settle(outcome)
  }
}

function isEventStream(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.toLowerCase().startsWith('text/event-stream') ?? false
}

function isCompressed(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding !== 'identity'
}

function reasonOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code
  return code ? `${error.message} (${code})` : error.message
}
