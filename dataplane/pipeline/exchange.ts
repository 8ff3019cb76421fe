import type { IncomingMessage, ServerResponse } from 'node:http'
import { monotonicMs } from '../clock.ts'
import type { Tenant } from '../config/compile.ts'
import type { Match, Route } from '../config/route-table.ts'
import type { Usage } from '../dialects/dialect.ts'
import { GatewayError } from '../dialects/errors.ts'
import type { Operation } from '../dialects/operations.ts'
import type { Reservation } from '../limits/limits.ts'
import type { Listed } from '../roster.ts'
import type { RequestBody } from './body.ts'

/** How a request ended. `Failed`: the response broke after it had begun. */
export type ExchangeOutcome = 'Served' | 'Refused' | 'Failed' | 'ClientGone'

/** Something that is held for one request; `close` gives it back and may be called once it is no longer needed. */
export interface Owned {
  close(): void
}

/**
 * One request and everything that was acquired for it: body bytes, queue place, slot, reference, upstream socket,
 * timers. All of it is given back in reverse order by `end`, once, however the request ends; cancelling is nothing
 * but ending early, so that no step needs to know who cancels.
 */
export class Exchange implements Listed {
  rosterIndex = -1
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly operation: Operation
  readonly requestId: string
  readonly startedAt = monotonicMs()

  tenant: Tenant | null = null
  match: Match | null = null
  body: RequestBody | null = null
  /** The model that the client named. */
  model = ''
  stream = false
  reservation: Reservation | null = null

  /** Tries that were sent to a backend. */
  attempts = 0
  /** The backend of the last try, as `namespace/name`. */
  backendId = ''
  queuedMs = 0
  firstTokenMs: number | null = null
  usage: Usage | null = null
  /** Code of the error that was answered or that broke the stream. */
  code = ''

  /** Why the request was cut short, if it was. */
  interruption: GatewayError | 'ClientGone' | null = null
  outcome: ExchangeOutcome | null = null

  readonly #owned: Owned[] = []
  readonly #onEnd: (exchange: Exchange) => void

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    operation: Operation,
    requestId: string,
    onEnd: (exchange: Exchange) => void,
  ) {
    this.request = request
    this.response = response
    this.operation = operation
    this.requestId = requestId
    this.#onEnd = onEnd
    // `close` also follows a complete answer; only without one is the client gone.
    response.on('close', () => {
      if (!response.writableFinished) this.interrupt('ClientGone')
    })
  }

  get route(): Route | null {
    return this.match?.route ?? null
  }

  /** Milliseconds since the request arrived. */
  get elapsedMs(): number {
    return monotonicMs() - this.startedAt
  }

  /** Takes over something that must be closed when the request ends. After the end it is closed at once. */
  own<T extends Owned>(item: T): T {
    if (this.outcome) item.close()
    else this.#owned.push(item)
    return item
  }

  /** A point to which `releaseTo` can go back. */
  mark(): number {
    return this.#owned.length
  }

  /** Closes what was taken since the mark, last first. */
  releaseTo(mark: number): void {
    while (this.#owned.length > mark) this.#owned.pop()!.close()
  }

  /**
   * Ends the request early: every step that waits is woken, because what it waits for is closed. A GatewayError is
   * then answered (or sent as the stream's error event); a client that is gone gets nothing.
   */
  interrupt(reason: GatewayError | 'ClientGone'): void {
    if (this.interruption || this.outcome) return
    this.interruption = reason
    if (reason === 'ClientGone') this.end('ClientGone')
    else this.releaseTo(0)
  }

  /** Steps call this after each wait. @throws GatewayError the interruption, if there was one */
  check(): void {
    if (this.interruption instanceof GatewayError) throw this.interruption
    if (this.interruption) throw new ClientGone()
  }

  /** Gives everything back and reports, once. A request that no backend took is not charged. */
  end(outcome: ExchangeOutcome): void {
    if (this.outcome) return
    this.outcome = outcome
    this.releaseTo(0)
    if (this.attempts === 0) this.reservation?.refund()
    else this.reservation?.settle(this.usage)
    this.#onEnd(this)
  }
}

/** Unwinds the steps of a request whose client is gone; nobody is left to be answered. */
export class ClientGone extends Error {}
