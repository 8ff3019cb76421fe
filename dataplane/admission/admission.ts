/** Why a request was not admitted. `Full`: the queue is at a bound. `Waited`: its maxWait passed. `Closed`: given up. */
export type RefusalReason = 'Full' | 'Waited' | 'Closed'

export interface Refusal {
  reason: RefusalReason
  /** True when the tenant is over its own share (429), false when everybody waits (503). */
  ownShare: boolean
  /** Estimated wait until a retry would be admitted, in milliseconds, 1,000 to 30,000. */
  retryAfterMs: number
}

/** What a request asks of a queue. Generic: nothing of HTTP. */
export interface Ask {
  /** Whose turn it takes. */
  tenant: string
  /** Estimated tokens, the currency of fairness. */
  tokens: number
  /** Bytes that stay in memory while it waits. */
  bytes: number
  /** Longest wait, in milliseconds. */
  maxWaitMs: number
  /** A retry that had a slot before: goes to the head of its tenant's line. */
  atHead: boolean
}

/**
 * A place in a queue and, once granted, a slot. Whoever asked owns it and must close it exactly when it no longer
 * needs the slot or the place; closing twice is harmless.
 */
export interface Ticket {
  /** `Granted` and `Refused` may be known at once; `Waiting` becomes one of them or `Closed`. */
  readonly state: 'Waiting' | 'Granted' | 'Refused' | 'Closed'
  readonly refusal: Refusal | null
  /** Milliseconds spent waiting so far, or until it was settled. */
  readonly waitedMs: number
  /** Resolves when the state is no longer `Waiting`. Never rejects. */
  settled(): Promise<void>
  /** Gives up the place or gives back the slot. */
  close(): void
}

/** Slots of one backend with a queue before them. */
export interface Admission {
  readonly inFlight: number
  readonly queued: number
  readonly slots: number
  ask(ask: Ask): Ticket
  /** New bounds; tickets that hold a slot keep it, waiting ones are admitted as the bounds allow. */
  resize(slots: number, depth: number): void
}
