import { type Head, type Header, headerValue } from './http-head.ts'
import type { Closing, UpstreamConnection } from './upstream-connection.ts'

/** One request as it arrived, byte for byte. */
export class UpstreamRequest {
  /** Number over the whole upstream, from 0, by the arrival of heads. */
  index = -1
  readonly connection: UpstreamConnection
  /** The head as on the wire, blank line included. */
  readonly raw: Buffer
  readonly method: string
  /** The request target as sent, query included. */
  readonly path: string
  readonly version: string
  /** In order and case as sent. */
  readonly headers: readonly Header[]
  /** `performance.now()` when the head was complete. */
  readonly at = performance.now()
  /** `performance.now()` when the body was complete; undefined before. */
  completedAt: number | undefined
  /** Resolves with true once the body is complete, with false when the connection was closed before. */
  readonly complete: Promise<boolean>
  /** Resolves when its script has ended, done or not. */
  readonly answered: Promise<void>
  bodyPieces: readonly Buffer[] = []
  rawBodyPieces: readonly Buffer[] = []
  readonly #resolveComplete: (complete: boolean) => void
  readonly #resolveAnswered: () => void

  constructor(connection: UpstreamConnection, raw: Buffer, { startLine, headers }: Head) {
    const match = /^([A-Z]+) (\S+) (HTTP\/1\.[01])$/.exec(startLine)
    if (!match) throw new Error(`not a request line: ${JSON.stringify(startLine)}`)
    this.connection = connection
    this.raw = raw
    this.headers = headers
    this.method = match[1]!
    this.path = match[2]!
    this.version = match[3]!
    const complete = Promise.withResolvers<boolean>()
    this.complete = complete.promise
    this.#resolveComplete = complete.resolve
    const answered = Promise.withResolvers<void>()
    this.answered = answered.promise
    this.#resolveAnswered = answered.resolve
  }

  /** What has arrived of the body, without chunk framing. */
  get body(): Buffer {
    return Buffer.concat(this.bodyPieces)
  }

  /** What has arrived of the body, as on the wire. */
  get rawBody(): Buffer {
    return Buffer.concat(this.rawBodyPieces)
  }

  /** When and how its connection was closed. */
  get closed(): Promise<Closing> {
    return this.connection.closed
  }

  /** The one value of a header, whatever the case of its name; throws where it stands more than once. */
  header(name: string): string | undefined {
    return headerValue(this.headers, name)
  }

  /** The body as JSON. */
  json(): unknown {
    return JSON.parse(this.body.toString())
  }

  /** Called by its connection. */
  finish(): void {
    this.completedAt = performance.now()
    this.#resolveComplete(true)
  }

  /** Called by its connection. */
  abandon(): void {
    this.#resolveComplete(false)
  }

  /** Called by its connection. */
  end(): void {
    this.#resolveAnswered()
  }
}
