import { createHash } from 'node:crypto'
import type { PolicyConfig } from '../config/snapshot.ts'
import type { LimitRefusal, Limits, Reservation, Subject } from './limits.ts'

/** Most budgets kept at a time for one limit; beyond it, new ones share one, so that invented names gain nothing. */
export const MAX_KEYS_PER_LIMIT = 10_000

/** Not a possible key: keys of limits with dimensions end with a line break. */
const OVERFLOW_KEY = '*'

interface Limit {
  policy: string
  name: string
  by: readonly ('Tenant' | 'Model')[]
  max: number
  windowMs: number
  /** One counter for each combination of `by`. */
  counters: Map<string, Counter>
  /** When idle counters were last dropped. */
  sweptAt: number
}

interface Counter {
  /** Start of the windows of this key, so that tenants do not refill in step. */
  offsetMs: number
  window: number
  used: number
}

/**
 * Requests per fixed window, in memory. What is admitted in one window never exceeds the limit: a counter is moved to
 * the current window before it is read.
 */
export class WindowLimits implements Limits {
  /** By UID of the target. */
  #byTarget = new Map<string, Limit[]>()
  /** By policy UID, limit name and target UID: what keeps its usage over reloads. */
  #limits = new Map<string, Limit>()
  readonly #now: () => number

  /** `now` gives wall-clock milliseconds: windows of several gateways must agree. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Takes over the policies of a new configuration. An edited limit keeps its usage, a renamed one starts afresh. */
  apply(policies: readonly PolicyConfig[]): void {
    const limits = new Map<string, Limit>()
    const byTarget = new Map<string, Limit[]>()
    for (const policy of policies) {
      for (const target of policy.targets) {
        for (const config of policy.limits) {
          const key = JSON.stringify([policy.uid, config.name, target.uid])
          const limit: Limit = {
            policy: `${policy.namespace}/${policy.name}`,
            name: config.name,
            by: config.by,
            max: config.requests,
            windowMs: config.perMs,
            counters: sameKeys(this.#limits.get(key), config) ?? new Map(),
            sweptAt: 0,
          }
          limits.set(key, limit)
          const list = byTarget.get(target.uid)
          if (list) list.push(limit)
          else byTarget.set(target.uid, [limit])
        }
      }
    }
    this.#limits = limits
    this.#byTarget = byTarget
  }

  charge(targets: readonly string[], subject: Subject): Reservation | LimitRefusal | null {
    let taken: Taken[] | null = null
    let refusal: LimitRefusal | null = null
    const now = this.#byTarget.size === 0 ? 0 : this.#now()
    for (const target of targets) {
      for (const limit of this.#byTarget.get(target) ?? []) {
        const counter = counterOf(limit, subject, now)
        if (counter.used >= limit.max) {
          const resetMs = (counter.window + 1) * limit.windowMs + counter.offsetMs - now
          if (!refusal || resetMs > refusal.resetMs) {
            refusal = { policy: limit.policy, limit: limit.name, max: limit.max, remaining: 0, resetMs }
          }
        } else {
          taken ??= []
          taken.push({ counter, window: counter.window })
        }
      }
    }
    if (refusal) return refusal
    if (!taken) return null
    for (const { counter } of taken) counter.used++
    return new WindowReservation(taken)
  }
}

interface Taken {
  counter: Counter
  window: number
}

class WindowReservation implements Reservation {
  #taken: Taken[] | null

  constructor(taken: Taken[]) {
    this.#taken = taken
  }

  refund(): void {
    for (const { counter, window } of this.#taken ?? []) {
      // A window that has passed is not given anything back: the next one starts full by itself.
      if (counter.window === window) counter.used--
    }
    this.#taken = null
  }

  settle(): void {
    this.#taken = null
  }
}

/** The counters may stay when the edited limit still means the same keys and windows. */
function sameKeys(before: Limit | undefined, config: PolicyConfig['limits'][number]): Map<string, Counter> | undefined {
  if (before?.windowMs !== config.perMs) return undefined
  return before.by.join() === config.by.join() ? before.counters : undefined
}

function counterOf(limit: Limit, subject: Subject, now: number): Counter {
  let key = ''
  for (const dimension of limit.by) key += `${dimension === 'Tenant' ? subject.tenant : subject.model}\n`
  let counter = limit.counters.get(key)
  if (!counter) {
    if (limit.counters.size >= MAX_KEYS_PER_LIMIT) {
      dropIdle(limit, now)
      if (limit.counters.size >= MAX_KEYS_PER_LIMIT) key = OVERFLOW_KEY
    }
    counter = limit.counters.get(key)
    if (!counter) {
      counter = { offsetMs: offset(key, limit.windowMs), window: -1, used: 0 }
      limit.counters.set(key, counter)
    }
  }
  const window = Math.floor((now - counter.offsetMs) / limit.windowMs)
  // A clock that steps back must not reopen a window that was spent.
  if (window > counter.window) {
    counter.window = window
    counter.used = 0
  }
  return counter
}

/** At most once a second: a flood of invented names must not turn every request into a sweep. */
function dropIdle(limit: Limit, now: number): void {
  if (now - limit.sweptAt < 1000) return
  limit.sweptAt = now
  for (const [key, counter] of limit.counters) {
    if (Math.floor((now - counter.offsetMs) / limit.windowMs) > counter.window) limit.counters.delete(key)
  }
}

function offset(key: string, windowMs: number): number {
  return createHash('sha256').update(key).digest().readUInt32BE() % windowMs
}
