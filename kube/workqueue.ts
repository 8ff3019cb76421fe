import { type BackoffOptions, backoffMs } from './backoff.ts'
import { TokenBucket } from './token-bucket.ts'

export interface WorkQueueOptions {
  /** Wait of a key that failed, by its failures in a row. Default 50 to 60,000 ms. */
  backoff?: BackoffOptions
  /** Retries a second over all keys, and how many at once before that counts. Default 10 and 100. */
  retries?: { perSecond: number; burst: number }
}

/** setTimeout takes no more; nobody means longer. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Keys to work on, with the rules of client-go's workqueue: a key that waits is not added twice; a key that is being
 * worked on is never handed out a second time, and when added meanwhile it is handed out again after `done`. In order of
 * arrival. Owns its timers; `shutDown` ends them.
 */
export class WorkQueue<K extends string = string> {
  readonly #backoff: BackoffOptions
  readonly #retries: TokenBucket
  /** To be handed out, in order. */
  readonly #waiting = new Set<K>()
  readonly #processing = new Set<K>()
  /** Added while being worked on. */
  readonly #again = new Set<K>()
  readonly #delayed = new Map<K, { at: number; timer: NodeJS.Timeout }>()
  readonly #failures = new Map<K, number>()
  readonly #takers: ((key: K | undefined) => void)[] = []
  readonly #drained = Promise.withResolvers<void>()
  #shutDown = false

  constructor({
    backoff = { baseMs: 50, maxMs: 60_000 },
    retries = { perSecond: 10, burst: 100 },
  }: WorkQueueOptions = {}) {
    this.#backoff = backoff
    this.#retries = new TokenBucket(retries.perSecond, retries.burst)
  }

  /** Keys that wait to be handed out; without those that are delayed or being worked on. */
  get length(): number {
    return this.#waiting.size
  }

  /** Keys that were handed out and are not done. */
  get processing(): number {
    return this.#processing.size
  }

  /** Nothing happens when the key waits already, or after `shutDown`. */
  add(key: K): void {
    if (this.#shutDown) return
    if (this.#processing.has(key)) {
      this.#again.add(key)
      return
    }
    this.#waiting.add(key)
    this.#serve()
  }

  /** Adds the key after `ms`, whatever happens to it before; of several such waits the earliest counts. */
  addAfter(key: K, ms: number): void {
    if (this.#shutDown) return
    const wait = Math.min(Math.max(ms, 0), LONGEST_MS)
    const at = performance.now() + wait
    const before = this.#delayed.get(key)
    if (before && before.at <= at) return
    clearTimeout(before?.timer)
    const add = () => {
      this.#delayed.delete(key)
      this.add(key)
    }
    this.#delayed.set(key, { at, timer: setTimeout(add, wait) })
  }

  /** Adds the key after a failure: after the backoff of its failures in a row, and within the rate of all retries. */
  retry(key: K): void {
    if (this.#shutDown) return
    const failures = this.failures(key) + 1
    this.#failures.set(key, failures)
    this.addAfter(key, Math.max(backoffMs(failures, this.#backoff), this.#retries.reserve()))
  }

  /** Failures in a row. */
  failures(key: K): number {
    return this.#failures.get(key) ?? 0
  }

  /** The key succeeded, or is gone: its failures no longer count. */
  forget(key: K): void {
    this.#failures.delete(key)
  }

  /** The next key; waits for one. Undefined once the queue is shut down and empty. Each must be given back with `done`. */
  get(): Promise<K | undefined> {
    const key = this.#take()
    if (key !== undefined) return Promise.resolve(key)
    if (this.#shutDown) return Promise.resolve(undefined)
    return new Promise(resolve => this.#takers.push(resolve))
  }

  /** The work on the key has ended, well or not. */
  done(key: K): void {
    if (!this.#processing.delete(key)) throw new Error(`the key ${key} is not being worked on`)
    // What was added before the end is still handed out, shut down or not.
    if (this.#again.delete(key)) this.#waiting.add(key)
    this.#serve()
    this.#checkDrained()
  }

  /**
   * Takes no more keys and drops the delayed ones; what waits is still handed out. Settles when all of it is done. A
   * second call gives the same promise.
   */
  shutDown(): Promise<void> {
    this.#shutDown = true
    for (const { timer } of this.#delayed.values()) clearTimeout(timer)
    this.#delayed.clear()
    if (this.#waiting.size === 0) for (const taker of this.#takers.splice(0)) taker(undefined)
    this.#checkDrained()
    return this.#drained.promise
  }

  #take(): K | undefined {
    for (const key of this.#waiting) {
      this.#waiting.delete(key)
      this.#processing.add(key)
      return key
    }
    return undefined
  }

  #serve(): void {
    while (this.#takers.length > 0) {
      const key = this.#take()
      if (key === undefined) break
      this.#takers.shift()!(key)
    }
  }

  #checkDrained(): void {
    if (!this.#shutDown || this.#waiting.size > 0 || this.#processing.size > 0) return
    for (const taker of this.#takers.splice(0)) taker(undefined)
    this.#drained.resolve()
  }
}
