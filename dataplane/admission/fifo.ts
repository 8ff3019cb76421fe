import { monotonicMs } from '../clock.ts'
import type { Admission, Ask, Refusal, RefusalReason, Ticket } from './admission.ts'

/** Most bytes of request bodies that wait in one queue. */
export const MAX_PARKED_BYTES = 64 * 1024 * 1024

/** Weight of a new sample in the mean of service times. */
const SMOOTHING = 0.1

/**
 * One line for all tenants, served in the order of arrival. Bounded by count, by parked bytes and by the wait it would
 * promise: what could not be served within its `maxWaitMs` is refused at once, not after the wait.
 */
export class Fifo implements Admission {
  slots: number
  inFlight = 0
  #depth: number
  #waiting = new Set<FifoTicket>()
  #parkedBytes = 0
  /** Mean time that a slot is held, ms; 0 until the first one was given back. */
  #meanServiceMs = 0

  constructor(slots: number, depth: number) {
    this.slots = slots
    this.#depth = depth
  }

  get queued(): number {
    return this.#waiting.size
  }

  resize(slots: number, depth: number): void {
    this.slots = slots
    this.#depth = depth
    this.#admit()
  }

  ask(ask: Ask): Ticket {
    const ticket = new FifoTicket(this, ask)
    if (this.inFlight < this.slots && this.#waiting.size === 0) {
      this.inFlight++
      ticket.grant()
    } else if (this.#isFull(ask)) {
      ticket.refuse(this.#refusal('Full'))
    } else {
      this.#park(ticket)
    }
    return ticket
  }

  /** @internal */
  leave(ticket: FifoTicket): void {
    this.#unpark(ticket)
  }

  /** @internal */
  expire(ticket: FifoTicket): void {
    this.#unpark(ticket)
    ticket.refuse(this.#refusal('Waited'))
  }

  /** @internal */
  giveBack(heldMs: number): void {
    this.inFlight--
    this.#meanServiceMs += (this.#meanServiceMs === 0 ? 1 : SMOOTHING) * (heldMs - this.#meanServiceMs)
    this.#admit()
  }

  #admit(): void {
    while (this.inFlight < this.slots) {
      const next = this.#waiting.values().next()
      if (next.done) return
      this.#unpark(next.value)
      this.inFlight++
      next.value.grant()
    }
  }

  #isFull(ask: Ask): boolean {
    const promised = this.#waitFor(this.#waiting.size + 1)
    return (
      this.#waiting.size >= this.#depth ||
      this.#parkedBytes + ask.bytes > MAX_PARKED_BYTES ||
      promised > ask.maxWaitMs ||
      ask.maxWaitMs <= 0
    )
  }

  /** Estimated wait of place `place` in the line, 1 being the next. */
  #waitFor(place: number): number {
    return (place * this.#meanServiceMs) / this.slots
  }

  #refusal(reason: RefusalReason): Refusal {
    const estimate = this.#waitFor(this.#waiting.size + 1)
    return { reason, ownShare: false, retryAfterMs: Math.min(30_000, Math.max(1_000, estimate)) }
  }

  #park(ticket: FifoTicket): void {
    this.#parkedBytes += ticket.ask.bytes
    if (ticket.ask.atHead) this.#waiting = new Set([ticket, ...this.#waiting])
    else this.#waiting.add(ticket)
    ticket.startTimer()
  }

  #unpark(ticket: FifoTicket): void {
    if (this.#waiting.delete(ticket)) this.#parkedBytes -= ticket.ask.bytes
  }
}

class FifoTicket implements Ticket {
  state: Ticket['state'] = 'Waiting'
  refusal: Refusal | null = null
  readonly ask: Ask
  readonly #queue: Fifo
  readonly #askedAt = monotonicMs()
  #settledAt = 0
  #timer: NodeJS.Timeout | undefined
  #settle: (() => void) | undefined
  #promise: Promise<void> | undefined

  constructor(queue: Fifo, ask: Ask) {
    this.#queue = queue
    this.ask = ask
  }

  get waitedMs(): number {
    return (this.state === 'Waiting' ? monotonicMs() : this.#settledAt) - this.#askedAt
  }

  settled(): Promise<void> {
    if (this.state !== 'Waiting') return Promise.resolve()
    this.#promise ??= new Promise(resolve => {
      this.#settle = resolve
    })
    return this.#promise
  }

  startTimer(): void {
    this.#timer = setTimeout(() => this.#queue.expire(this), this.ask.maxWaitMs)
  }

  grant(): void {
    this.#leaveWaiting('Granted')
  }

  refuse(refusal: Refusal): void {
    this.refusal = refusal
    this.#leaveWaiting('Refused')
  }

  close(): void {
    const before = this.state
    if (before === 'Closed' || before === 'Refused') return
    if (before === 'Waiting') {
      this.#queue.leave(this)
      this.#leaveWaiting('Closed')
    } else {
      this.state = 'Closed'
      this.#queue.giveBack(monotonicMs() - this.#settledAt)
    }
  }

  #leaveWaiting(state: Ticket['state']): void {
    this.state = state
    this.#settledAt = monotonicMs()
    clearTimeout(this.#timer)
    this.#settle?.()
  }
}
