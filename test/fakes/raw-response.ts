import { BodyReader, type Framing } from './body-reader.ts'
import { contentLength, type Head, type Header, headEnd, headerValue, isChunked, parseHead } from './http-head.ts'

/** What one read from the socket brought of a body. */
export interface Arrival {
  /** `performance.now()` then. */
  at: number
  /** Without chunk framing. */
  content: Buffer
}

export interface ResponseHead {
  status: number
  reason: string
  /** In order and case as sent. */
  headers: readonly Header[]
  /** As on the wire, blank line included. */
  raw: Buffer
}

/**
 * How a response ended. `length`, `chunked`, `empty`: as its framing promised. `close`: by FIN, without a framing that
 * would tell a complete body from a cut one. `cut`: before its end.
 */
export type Ending = 'length' | 'chunked' | 'empty' | 'close' | 'cut'

/** How a connection came to its end: FIN or RST from the server, or our own doing. */
export type Cut = 'fin' | 'reset' | 'self'

/** One response as it arrives on a connection. */
export class RawResponse {
  /** Interim (1xx) responses that came before. */
  readonly informational: ResponseHead[] = []
  readonly arrivals: Arrival[] = []
  /** Undefined while the response runs. */
  ending: Ending | undefined
  /** Where `ending` is `cut` or `close`: how. */
  cutBy: Cut | undefined
  endedAt: number | undefined
  /** Resolves when the response has ended, however it did; rejects when what arrived is no HTTP/1.1. */
  readonly done: Promise<this>
  #head: ResponseHead | undefined
  #body: BodyReader | undefined
  #framing: Framing | undefined
  #pending = Buffer.alloc(0)
  readonly #forHead: boolean
  readonly #resolveDone: (response: this) => void
  readonly #rejectDone: (error: Error) => void
  readonly #changed = new Set<() => void>()

  /** `method`: that of the request; the response to HEAD has no body. */
  constructor(method: string) {
    this.#forHead = method === 'HEAD'
    const { promise, resolve, reject } = Promise.withResolvers<this>()
    this.done = promise
    this.#resolveDone = resolve
    this.#rejectDone = reject
  }

  /** The final head. Throws before it has arrived. */
  get head(): ResponseHead {
    if (!this.#head)
      throw new Error(`no response head has arrived${this.cutBy ? `, the connection ended: ${this.cutBy}` : ''}`)
    return this.#head
  }

  get status(): number {
    return this.head.status
  }

  get headers(): readonly Header[] {
    return this.head.headers
  }

  get hasHead(): boolean {
    return this.#head !== undefined
  }

  /** The body so far, without chunk framing. */
  get body(): Buffer {
    return Buffer.concat(this.#body?.content ?? [])
  }

  /** The body so far, as on the wire. */
  get rawBody(): Buffer {
    return Buffer.concat(this.#body?.raw ?? [])
  }

  get text(): string {
    return this.body.toString()
  }

  get trailers(): readonly Header[] {
    return this.#body?.trailers ?? []
  }

  /** Whether the response ended as its framing promised. */
  get clean(): boolean {
    return this.ending === 'length' || this.ending === 'chunked' || this.ending === 'empty'
  }

  /** The one value of a header, whatever the case of its name; throws where it stands more than once. */
  header(name: string): string | undefined {
    return headerValue(this.headers, name)
  }

  /** The body as JSON. */
  json(): unknown {
    return JSON.parse(this.text)
  }

  /**
   * Resolves when `holds` does, looked at whenever something arrives after the head. Rejects when the response ends
   * without.
   */
  until(holds: (response: this) => boolean): Promise<this> {
    return new Promise((resolve, reject) => {
      const holdsNow = () => {
        try {
          return this.hasHead && holds(this)
        } catch (error) {
          reject(error)
          return false
        }
      }
      const look = () => {
        const held = holdsNow()
        if (!held && !this.ending) return
        this.#changed.delete(look)
        if (held) resolve(this)
        else
          reject(
            new Error(`the response ended (${this.ending}) before that, with the body ${JSON.stringify(this.text)}`),
          )
      }
      this.#changed.add(look)
      look()
    })
  }

  /** Takes what belongs to this response and returns the rest. Throws on what is no HTTP/1.1. */
  push(bytes: Buffer, at: number): Buffer {
    this.#pending = Buffer.concat([this.#pending, bytes])
    while (!this.#body && this.#readHead());
    if (this.#body) this.#readBody(this.#body, at)
    for (const look of this.#changed) look()
    const rest = this.#pending
    if (this.ending) this.#pending = Buffer.alloc(0)
    return this.ending ? rest : Buffer.alloc(0)
  }

  /** What arrived is no HTTP/1.1. */
  fail(error: Error): void {
    this.#rejectDone(error)
  }

  /** The connection has ended. */
  eof(how: Cut): void {
    if (this.ending) return
    this.cutBy = how
    this.#end(this.#framing?.by === 'close' && how === 'fin' ? 'close' : 'cut')
  }

  #readHead(): boolean {
    const end = headEnd(this.#pending)
    if (end < 0) return false
    const raw = Buffer.from(this.#pending.subarray(0, end))
    this.#pending = Buffer.from(this.#pending.subarray(end))
    const head = responseHead(raw, parseHead(raw))
    if (head.status < 200 && head.status !== 101) {
      this.informational.push(head)
      return true
    }
    this.#head = head
    this.#framing = this.#framingOf(head)
    this.#body = new BodyReader(this.#framing)
    return false
  }

  #framingOf({ status, headers }: ResponseHead): Framing {
    if (this.#forHead || status === 204 || status === 304) return { by: 'length', length: 0 }
    if (isChunked(headers)) return { by: 'chunked' }
    const length = contentLength(headers)
    return length === undefined ? { by: 'close' } : { by: 'length', length }
  }

  #readBody(body: BodyReader, at: number): void {
    const before = body.content.length
    if (!body.done) this.#pending = Buffer.from(body.push(this.#pending))
    const content = Buffer.concat(body.content.slice(before))
    if (content.length > 0) this.arrivals.push({ at, content })
    if (!body.done) return
    const chunked = this.#framing?.by === 'chunked'
    this.#end(chunked ? 'chunked' : body.content.length > 0 ? 'length' : 'empty')
  }

  #end(ending: Ending): void {
    this.ending = ending
    this.endedAt = performance.now()
    for (const look of this.#changed) look()
    this.#resolveDone(this)
  }
}

function responseHead(raw: Buffer, { startLine, headers }: Head): ResponseHead {
  const match = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(startLine)
  if (!match) throw new Error(`not a status line: ${JSON.stringify(startLine)}`)
  return { status: Number(match[1]), reason: match[2] ?? '', headers, raw }
}
