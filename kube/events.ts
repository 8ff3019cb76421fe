import { randomBytes } from 'node:crypto'
import type { KubeClient } from './http.ts'
import { microTime } from './lease.ts'
import type { KubeObject } from './object.ts'
import type { Resource } from './resource.ts'
import { TokenBucket } from './token-bucket.ts'

/** What a person should know about an object. */
export interface EventNote {
  regarding: KubeObject
  type: 'Normal' | 'Warning'
  /** Why, one word in CamelCase, at most 128 characters. */
  reason: string
  /** What was done or tried, one word in CamelCase, at most 128 characters. */
  action: string
  /** For people; cut at 1024 bytes. */
  note: string
}

interface KubeEvent extends KubeObject {
  eventTime: string
  series?: { count: number; lastObservedTime: string }
  [field: string]: unknown
}

export const EVENTS: Resource<KubeEvent> = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}

export interface EventRecorderOptions {
  client: KubeClient
  /** Who says it, as `weir.dev/operator`. */
  controller: string
  /** Which of them: the pod's name. */
  instance: string
  /** Writes a second over all objects, and how many at once before that counts; what is over is dropped. Default 5, 50. */
  writes?: { perSecond: number; burst: number }
  /** The same event again within this time is counted, not written anew, in milliseconds. Default 360,000. */
  seriesMs?: number
  /** The count of a series is written at most so often, in milliseconds. Default 60,000. */
  countEveryMs?: number
  /** Different events that are remembered; the oldest is forgotten first. Default 1000. */
  remembered?: number
  report?: (error: unknown) => void
}

interface Series {
  event: KubeEvent
  count: number
  /** The count that the server has. */
  written: number
  lastAt: Date
  /** Ends the series, put off by each repetition. */
  expiry: NodeJS.Timeout
  counting: NodeJS.Timeout | undefined
  /** The writes so far: a count must not overtake the event itself. */
  sent: Promise<void>
}

/** The API server's own bounds. */
const NOTE_BYTES = 1024
const WORD_LENGTH = 128
const NAME_LENGTH = 253

/**
 * Writes Events (events.k8s.io/v1) without ever getting in the way: `record` returns at once and never throws, the same
 * event again is counted in a series, and the rate is bounded. Owns timers and requests; `close` ends them.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #writes: TokenBucket
  readonly #series = new Map<string, Series>()
  readonly #sending = new Set<Promise<void>>()
  #closed = false
  #dropped = 0

  constructor(options: EventRecorderOptions) {
    const { perSecond, burst } = options.writes ?? { perSecond: 5, burst: 50 }
    this.#options = options
    this.#writes = new TokenBucket(perSecond, burst)
  }

  /** Events that were not written because of the rate, or because a write failed. */
  get dropped(): number {
    return this.#dropped
  }

  record(note: EventNote): void {
    if (this.#closed) return
    try {
      const key = keyOfNote(note)
      const known = this.#series.get(key)
      if (known) this.#repeat(key, known)
      else this.#begin(key, note)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Writes the counts that are still due, and waits for what is on its way. */
  async close(): Promise<void> {
    this.#closed = true
    for (const key of [...this.#series.keys()]) this.#end(key)
    await Promise.all(this.#sending)
  }

  #begin(key: string, note: EventNote): void {
    const { seriesMs = 360_000, remembered = 1000, client } = this.#options
    if (!this.#writes.take()) {
      this.#dropped++
      return
    }
    const oldest = this.#series.keys().next().value
    if (this.#series.size >= remembered && oldest !== undefined) this.#end(oldest)
    const event = this.#event(note)
    const expiry = setTimeout(() => this.#end(key), seriesMs).unref()
    const sent = this.#send(key, () => client.create(EVENTS, event))
    this.#series.set(key, { event, count: 1, written: 1, lastAt: new Date(), expiry, counting: undefined, sent })
  }

  #repeat(key: string, series: Series): void {
    const { countEveryMs = 60_000 } = this.#options
    series.count++
    series.lastAt = new Date()
    series.expiry.refresh()
    series.counting ??= setTimeout(() => {
      series.counting = undefined
      this.#writeCount(key, series)
    }, countEveryMs).unref()
    // The most recent ones are forgotten last.
    this.#series.delete(key)
    this.#series.set(key, series)
  }

  #end(key: string): void {
    const series = this.#forget(key)
    if (series) this.#writeCount(key, series)
  }

  #forget(key: string): Series | undefined {
    const series = this.#series.get(key)
    this.#series.delete(key)
    clearTimeout(series?.expiry)
    clearTimeout(series?.counting)
    return series
  }

  #writeCount(key: string, series: Series): void {
    const { event, count, lastAt } = series
    if (count === series.written) return
    if (!this.#writes.take()) {
      this.#dropped++
      return
    }
    series.written = count
    const patch = { series: { count, lastObservedTime: microTime(lastAt) } }
    const before = series.sent
    series.sent = this.#send(key, async () => {
      await before
      await this.#options.client.mergePatch(EVENTS, event.metadata, patch)
    })
  }

  /** An event that could not be written, or is gone, is forgotten: the next one like it is written anew. */
  #send(key: string, request: () => Promise<unknown>): Promise<void> {
    const sending = request()
      .then(
        () => {},
        error => {
          this.#forget(key)
          this.#fail(error)
        },
      )
      .finally(() => this.#sending.delete(sending))
    this.#sending.add(sending)
    return sending
  }

  #event({ regarding, type, reason, action, note }: EventNote): KubeEvent {
    const { apiVersion, kind, metadata } = regarding
    const { name, namespace, uid, resourceVersion } = metadata
    const suffix = `.${randomBytes(8).toString('hex')}`
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      // Events about objects without a namespace live in `default`.
      metadata: { namespace: namespace ?? 'default', name: name.slice(0, NAME_LENGTH - suffix.length) + suffix },
      eventTime: microTime(),
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance.slice(0, WORD_LENGTH),
      type,
      reason: reason.slice(0, WORD_LENGTH),
      action: action.slice(0, WORD_LENGTH),
      note: cutAtBytes(note, NOTE_BYTES),
      regarding: { apiVersion, kind, name, namespace, uid, resourceVersion },
    }
  }

  #fail(error: unknown): void {
    this.#dropped++
    try {
      this.#options.report?.(error)
    } catch {
      // Nothing about an event may disturb who records it.
    }
  }
}

function keyOfNote({ regarding, type, reason, action, note }: EventNote): string {
  const { namespace, name, uid } = regarding.metadata
  return JSON.stringify([regarding.kind, namespace, name, uid, type, reason, action, note])
}

/** Without half a character at the end. */
function cutAtBytes(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text
  return new TextDecoder().decode(Buffer.from(text).subarray(0, max), { stream: true })
}
