import type { Usage } from '../dialects/dialect.ts'

/** What a request is charged to. `model` is the name that tells budgets by model apart. */
export interface Subject {
  tenant: string
  model: string
}

/** A limit that said no. */
export interface LimitRefusal {
  policy: string
  limit: string
  /** Most per window, what is left of it now, and milliseconds until it is enough again. */
  max: number
  remaining: number
  resetMs: number
}

/**
 * What one logical request has taken from its limits, over all its retries. Settled once: either given back, because
 * the request was never served, or made true by what it really used. Later calls do nothing.
 */
export interface Reservation {
  /** The request was refused, evicted or cancelled before any backend took it: everything is given back. */
  refund(): void
  /** The request ended; `usage` is null where the provider reported none. */
  settle(usage: Usage | null): void
}

/** Budgets by target. Counts belong to policy and limit, so they survive a reload that keeps them. */
export interface Limits {
  /**
   * Takes one request from every limit on the targets (UIDs of routes, tenants, backends), all or nothing.
   * @returns the reservation, or the tightest limit that refused; null where no limit applies
   */
  charge(targets: readonly string[], subject: Subject): Reservation | LimitRefusal | null
}

export function isRefusal(result: Reservation | LimitRefusal | null): result is LimitRefusal {
  return result !== null && 'resetMs' in result
}
