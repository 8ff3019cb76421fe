import { ApiError, ConnectionError, isGone } from './api-error.ts'
import { type BackoffOptions, backoffMs, jittered } from './backoff.ts'
import { Cancellation, pause } from './cancellation.ts'
import type { KubeClient, Selection } from './http.ts'
import { type KubeObject, keyOf, type ObjectName } from './object.ts'
import { type Change, ObjectCache } from './object-cache.ts'
import type { Resource } from './resource.ts'
import type { WatchEvent } from './watch-stream.ts'

export interface ReflectorTiming {
  /** The server is asked to end each watch after so long, up to twice that by chance. Seconds, a whole number. Default 90. */
  watchSeconds: number
  /** A watch without event or bookmark is given up so long after the server should have ended it. Default 10,000. */
  silenceMarginMs: number
  /** Between a watch that ended in good order, but within a second, and the next. Default 1000. */
  restartMs: number
  /** After failures. Default 200 to 10,000. */
  backoff: BackoffOptions
}

export interface ReflectorOptions<T extends KubeObject> extends Selection {
  client: KubeClient
  resource: Resource<T>
  /** Called for each change, after the cache has it; should only enqueue. What it throws goes to `report`. */
  onChange?: (change: Change<T>) => void
  /** Every failure, with the wait before the next try; the reflector itself never gives up. */
  report?: (error: unknown, retryInMs: number) => void
  timing?: Partial<ReflectorTiming>
  /** Objects a page of a list. Default 500. */
  pageSize?: number
}

/** What has happened since the start. */
export interface ReflectorCounts {
  lists: number
  watches: number
  failures: number
}

const TIMING: ReflectorTiming = {
  watchSeconds: 90,
  silenceMarginMs: 10_000,
  restartMs: 1000,
  backoff: { baseMs: 200, maxMs: 10_000 },
}

/** A server that asks for more than this is asked again all the same, in milliseconds. */
const LONGEST_RETRY_AFTER_MS = 60_000

/** After so many refused watches in a row the resourceVersion itself is suspect: list again. */
const REFUSALS_BEFORE_LIST = 5

/**
 * A copy of the objects of one kind that follows the server through whatever happens to the connection: list, then
 * watch; each end resumes from the last resourceVersion, and a version that is too old lists again. The objects are
 * frozen. Owns its requests and timers; `close` ends them all.
 */
export class Reflector<T extends KubeObject> {
  /** Settles once the first list is in the cache and its changes were handed out; rejects when closed before. */
  readonly synced: Promise<void>
  readonly counts: Readonly<ReflectorCounts>
  readonly #options: ReflectorOptions<T>
  readonly #timing: ReflectorTiming
  readonly #counts: ReflectorCounts = { lists: 0, watches: 0, failures: 0 }
  readonly #cache = new ObjectCache<T>()
  readonly #closing = new AbortController()
  readonly #synced = Promise.withResolvers<void>()
  #running: Promise<void> | undefined
  /** What to resume from; absent: list. */
  #resourceVersion: string | undefined
  #contactAt = Number.NEGATIVE_INFINITY
  #failures = 0

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#timing = { ...TIMING, ...options.timing }
    this.counts = this.#counts
    this.synced = this.#synced.promise
    // Who does not wait for it is not to be killed by it.
    this.synced.catch(() => {})
  }

  /** Begins to list and watch. Once. */
  start(): this {
    this.#running ??= this.#run()
    return this
  }

  get(name: ObjectName): T | undefined {
    return this.#cache.get(name)
  }

  values(): IterableIterator<T> {
    return this.#cache.values()
  }

  get size(): number {
    return this.#cache.size
  }

  /**
   * Since the server last said anything: a page, a watch accepted, an event or a bookmark. A quiet and healthy watch
   * stays under some 60 s, the pace of bookmarks. Infinity before the first answer.
   */
  secondsSinceContact(): number {
    return (performance.now() - this.#contactAt) / 1000
  }

  /** Ends everything; no change is handed out afterwards. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the reflector was closed'))
    await this.#running
    this.#synced.reject(new Error('the reflector was closed before its first list'))
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      let waitMs: number
      try {
        if (this.#resourceVersion === undefined) await this.#list()
        waitMs = await this.#watch()
      } catch (error) {
        if (signal.aborted) break
        waitMs = this.#afterFailure(error)
        this.#report(error, waitMs)
      }
      await pause(waitMs, signal)
    }
  }

  async #list(): Promise<void> {
    const { client, resource, namespace, labelSelector, fieldSelector, pageSize = 500 } = this.#options
    const { signal } = this.#closing
    this.#counts.lists++
    const pages: T[][] = []
    let resourceVersion: string
    let token: string | undefined
    do {
      const options = { namespace, labelSelector, fieldSelector, limit: pageSize, signal }
      const page = await client.list(resource, token === undefined ? options : { ...options, continue: token })
      this.#contact()
      pages.push(page.items)
      // Every page has the version of the first one.
      resourceVersion = page.resourceVersion
      token = page.continue
    } while (token !== undefined)

    // Nothing is handed out before the last page: a list that fails half way must not look like deletions.
    const present = new Set(pages.flatMap(items => items.map(item => keyOf(item.metadata))))
    this.#handOut(this.#cache.retain(present))
    for (const items of pages) for (const item of items) this.#handOut(this.#cache.set(item))
    this.#resourceVersion = resourceVersion
    this.#synced.resolve()
  }

  /** Until the server ends it in good order; returns how long to wait before the next. */
  async #watch(): Promise<number> {
    const { client, resource, namespace, labelSelector, fieldSelector } = this.#options
    const { watchSeconds, silenceMarginMs, restartMs, backoff } = this.#timing
    const timeoutSeconds = Math.round(watchSeconds * (1 + Math.random()))
    const resourceVersion = this.#resourceVersion!
    const startedAt = performance.now()
    const silence = new Cancellation(this.#closing.signal)
    const expectMore = () => {
      const ms = timeoutSeconds * 1000 + silenceMarginMs
      silence.after(ms, () => new ConnectionError('Timeout', `watch of ${resource.plural}: silent for ${ms} ms`))
    }
    this.#counts.watches++
    expectMore()
    try {
      const selection = { namespace, labelSelector, fieldSelector }
      const { signal } = silence
      const events = await client.watch(resource, { ...selection, resourceVersion, timeoutSeconds, signal })
      this.#contact()
      for await (const event of events) {
        this.#contact()
        this.#failures = 0
        expectMore()
        this.#take(event)
      }
    } finally {
      silence.dispose()
      // It was healthy, if quiet: what went wrong before it does not count against the next try.
      if (performance.now() - startedAt > backoff.maxMs) this.#failures = 0
    }
    // One that lasted was ended by its own timeout. One that ends at once, again and again, must not become a busy loop.
    if (performance.now() - startedAt < Math.min(1000, restartMs)) return jittered(restartMs)
    this.#failures = 0
    return 0
  }

  #take(event: WatchEvent<T>): void {
    if (this.#closing.signal.aborted) return
    if (event.type === 'BOOKMARK') {
      this.#resourceVersion = event.resourceVersion
      return
    }
    const object = this.#named(event.object)
    this.#resourceVersion = object.metadata.resourceVersion!
    this.#handOut(event.type === 'DELETED' ? this.#cache.delete(object) : this.#cache.set(object))
  }

  #named(object: T): T {
    if (typeof object?.metadata?.name === 'string' && object.metadata.resourceVersion) return object
    const { plural } = this.#options.resource
    throw new ConnectionError('Answer', `watch of ${plural}: an event without an object of that kind`)
  }

  #handOut(changes: readonly Change<T>[]): void {
    for (const change of changes) {
      try {
        this.#options.onChange?.(change)
      } catch (error) {
        this.#report(error, 0)
      }
    }
  }

  #afterFailure(error: unknown): number {
    this.#counts.failures++
    this.#failures++
    const wait = backoffMs(this.#failures, this.#timing.backoff)
    if (!(error instanceof ApiError)) return wait
    const { status, retryAfterMs = 0 } = error
    if (isGone(error)) {
      this.#resourceVersion = undefined
      return this.#failures === 1 ? 0 : wait
    }
    // 400, 403, 404 and the like say that the request is wrong, not that the server is busy.
    const refused = status < 500 && status !== 429 && status !== 408
    if (refused || this.#failures >= REFUSALS_BEFORE_LIST) this.#resourceVersion = undefined
    return Math.max(wait, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS))
  }

  #report(error: unknown, waitMs: number): void {
    try {
      this.#options.report?.(error, waitMs)
    } catch {
      // A log that fails must not end the watch.
    }
  }

  #contact(): void {
    this.#contactAt = performance.now()
  }
}
