import { apiErrorOfEvent, ConnectionError } from './api-error.ts'
import { linesOf } from './lines.ts'
import type { KubeObject } from './object.ts'
import type { Stream } from './transport.ts'

export type WatchEvent<T extends KubeObject> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  /** Nothing changed up to this `resourceVersion`. */
  | { type: 'BOOKMARK'; resourceVersion: string }

/** The API server takes requests of 3 MiB at most; stored objects are smaller still. */
const MAX_LINE_BYTES = 8 << 20

/**
 * The events of one watch, once. Ends when the server ends it in good order; an ERROR event is an `ApiError`, a stream
 * that breaks is a `ConnectionError`, and an abort gives the signal's reason. Leaving the loop closes the connection.
 */
export class WatchStream<T extends KubeObject> implements AsyncIterable<WatchEvent<T>> {
  readonly #stream: Stream
  readonly #what: string
  readonly #failure: (error: unknown) => Error
  readonly #signal: AbortSignal | undefined

  constructor(stream: Stream, what: string, failure: (error: unknown) => Error, signal: AbortSignal | undefined) {
    this.#stream = stream
    this.#what = what
    this.#failure = failure
    this.#signal = signal
  }

  close(): void {
    this.#stream.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent<T>, void> {
    try {
      const lines = linesOf(this.#stream.body, MAX_LINE_BYTES)
      while (true) {
        const next = await this.#next(lines)
        if (next === undefined) return
        yield this.#event(next)
      }
    } finally {
      this.close()
    }
  }

  async #next(lines: AsyncGenerator<string, void>): Promise<string | undefined> {
    try {
      const { value, done } = await lines.next()
      return done ? undefined : value
    } catch (error) {
      throw this.#signal?.aborted ? this.#signal.reason : this.#failure(error)
    }
  }

  #event(line: string): WatchEvent<T> {
    const { type, object } = this.#parse(line)
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        return { type, object: object as T }
      case 'BOOKMARK':
        return { type, resourceVersion: (object as T).metadata.resourceVersion! }
      case 'ERROR':
        throw apiErrorOfEvent(this.#what, object)
      default:
        throw new ConnectionError('Answer', `${this.#what}: unknown event ${JSON.stringify(type)}`)
    }
  }

  #parse(line: string): { type?: unknown; object?: unknown } {
    try {
      return JSON.parse(line) as { type?: unknown; object?: unknown }
    } catch {
      throw new ConnectionError('Answer', `${this.#what}: the stream broke off or holds what is no JSON`)
    }
  }
}
