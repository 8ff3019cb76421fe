import type { IncomingHttpHeaders } from 'node:http'
import { monotonicMs } from '../clock.ts'
import { type Observation, parseObject } from '../dialects/dialect.ts'
import type { ErrorCode } from '../dialects/errors.ts'
import { eachEvent, SseFramer } from '../dialects/sse.ts'
import type { AttemptClient, ResponseBody } from './attempt.ts'
import type { Outcome } from './outcome.ts'
import { inBandError } from './response-json.ts'

/** Bounds of what is held before the first content event: enough for any provider's prelude. */
const MAX_HELD_EVENTS = 64
const MAX_HELD_BYTES = 64 * 1024
const MAX_HELD_MS = 2000

/** Silence after which a comment is sent, below the idle timeouts of common load balancers (30 s and more). */
const KEEPALIVE_MS = 15_000

/** How long a stream may stay open behind its terminator; one that never closes would keep its slot. */
const TERMINATED_MS = 1000

/** A comment line: parsers of event streams skip it. */
const KEEPALIVE = ': keep-alive\n\n'

/**
 * A response that comes as server-sent events. Events before the first content are held, so that an early failure can
 * still go to the next backend. After that whole events pass as they came, looked at but never rewritten. A stream
 * that ends without its terminator and without a finish reason is a failure, and is said to be one.
 */
export class StreamResponse implements ResponseBody {
  readonly #client: AttemptClient
  readonly #status: number
  readonly #headers: IncomingHttpHeaders
  readonly #seen: Observation
  readonly #framer = new SseFramer()
  #held: Buffer[] = []
  #heldBytes = 0
  #heldEvents = 0
  /** When the first event was held; nothing held, nothing to wake for. */
  #heldSince = Number.POSITIVE_INFINITY
  #committed = false
  #lastWriteAt = 0
  #bad: Outcome | null = null

  constructor(client: AttemptClient, status: number, headers: IncomingHttpHeaders, seen: Observation) {
    this.#client = client
    this.#status = status
    // An error event may be added at the end, so the length is not known.
    this.#headers = { ...headers, 'content-length': undefined }
    this.#seen = seen
  }

  data(chunk: Buffer): boolean {
    const events = this.#framer.push(chunk)
    if (!events || this.#bad) return true
    if (!this.#committed) return this.#hold(events)
    this.#client.dialect.observe(events, this.#seen)
    return this.#write(events)
  }

  end(): Outcome {
    if (this.#bad) return this.#bad
    const rest = this.#framer.flush()
    if (rest) this.#client.dialect.observe(rest, this.#seen)
    if (!this.#complete) return this.cut('the stream ended early', EARLY_END)
    if (!this.#committed) this.#commit()
    this.#client.response.end(rest ?? undefined)
    return this.#ended('the backend reported an error')
  }

  cut(reason: string, error: { code: ErrorCode; message: string }): Outcome {
    if (!this.#committed) return { kind: 'Reset', reason }
    const { response, dialect, requestId } = this.#client
    if (this.#complete) {
      response.end()
      return this.#ended(reason)
    }
    // In the middle of an event an error event could not be parsed; a cut connection is understood by everyone.
    if (this.#framer.midEvent) response.destroy()
    else response.end(dialect.errorEvent(error.code, error.message, requestId))
    return { kind: 'Broken', reason, code: error.code }
  }

  wakeAt(): number {
    if (this.#bad) return 0
    if (!this.#committed) return this.#heldSince + MAX_HELD_MS
    return this.#lastWriteAt + (this.#seen.terminated ? TERMINATED_MS : KEEPALIVE_MS)
  }

  wake(now: number): Outcome | null {
    if (this.#bad) return this.#bad
    if (!this.#committed) {
      if (now >= this.#heldSince + MAX_HELD_MS) this.#commit()
      return null
    }
    if (this.#seen.terminated && now >= this.wakeAt()) return this.end()
    if (now < this.wakeAt()) return null
    // In the middle of an event a comment would become part of it: ask again after the next silence.
    if (this.#framer.midEvent) this.#lastWriteAt = now
    else this.#write(KEEPALIVE)
    return null
  }

  /** Everything that the client was promised has come, or the upstream has said itself that it failed. */
  get #complete(): boolean {
    return this.#seen.terminated || this.#seen.finished || this.#seen.failed
  }

  /** The client has everything; an error that the upstream itself reported is still a failure. */
  #ended(reason: string): Outcome {
    return this.#seen.failed ? { kind: 'Broken', reason, code: 'upstream_error' } : { kind: 'Done' }
  }

  #hold(events: Buffer): boolean {
    if (this.#held.length === 0) this.#heldSince = monotonicMs()
    this.#held.push(events)
    this.#heldBytes += events.length
    let content = this.#framer.midEvent || this.#heldBytes > MAX_HELD_BYTES
    eachEvent(events, (event, data) => {
      this.#heldEvents++
      const kind = this.#client.dialect.classify(event, data, this.#seen)
      if (kind === 'Content') content = true
      if (kind === 'Error' && !content) this.#bad ??= this.#errorInBand(data)
    })
    if (this.#bad) return true
    return content || this.#heldEvents > MAX_HELD_EVENTS ? this.#commit() : true
  }

  #errorInBand(data: string): Outcome {
    return inBandError(Buffer.from(data), parseObject(data)?.error, this.#headers)
  }

  #commit(): boolean {
    this.#committed = true
    this.#client.commit(this.#status, this.#headers)
    const held = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held)
    this.#held = []
    return held.length === 0 || this.#write(held)
  }

  #write(bytes: Buffer | string): boolean {
    this.#lastWriteAt = monotonicMs()
    return this.#client.response.write(bytes)
  }
}

const EARLY_END = {
  code: 'upstream_error',
  message: 'The backend ended the stream before the answer was complete.',
} as const
