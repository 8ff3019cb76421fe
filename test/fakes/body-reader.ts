import { type Header, parseHead } from './http-head.ts'

/** How the end of a body is known. */
export type Framing = { by: 'length'; length: number } | { by: 'chunked' } | { by: 'close' }

type Expecting = 'size' | 'content' | 'contentEnd' | 'trailers' | 'nothing'

/** Reads one body piece by piece; what follows it on the connection is given back. */
export class BodyReader {
  /** As on the wire, chunk sizes included. */
  readonly raw: Buffer[] = []
  /** Without the chunk framing. */
  readonly content: Buffer[] = []
  trailers: Header[] = []
  done: boolean
  readonly #framing: Framing
  #expecting: Expecting = 'size'
  #left: number
  #line = Buffer.alloc(0)

  constructor(framing: Framing) {
    this.#framing = framing
    this.#left = framing.by === 'length' ? framing.length : Number.POSITIVE_INFINITY
    this.done = this.#left === 0
  }

  /** Takes what belongs to the body and returns the rest. Throws when chunk framing is malformed. */
  push(bytes: Buffer): Buffer {
    const rest = this.#framing.by === 'chunked' ? this.#pushChunked(bytes) : this.#pushCounted(bytes)
    if (rest.length < bytes.length) this.raw.push(bytes.subarray(0, bytes.length - rest.length))
    return rest
  }

  #pushCounted(bytes: Buffer): Buffer {
    const taken = bytes.subarray(0, this.#left)
    if (taken.length > 0) this.content.push(taken)
    this.#left -= taken.length
    this.done = this.#left === 0
    return bytes.subarray(taken.length)
  }

  #pushChunked(bytes: Buffer): Buffer {
    let rest = bytes
    while (rest.length > 0 && !this.done) {
      if (this.#expecting === 'content') {
        const taken = rest.subarray(0, this.#left)
        this.content.push(taken)
        this.#left -= taken.length
        rest = rest.subarray(taken.length)
        if (this.#left === 0) this.#expecting = 'contentEnd'
        continue
      }
      const end = rest.indexOf(0x0a)
      this.#line = Buffer.concat([this.#line, end < 0 ? rest : rest.subarray(0, end + 1)])
      rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1)
      if (end >= 0) this.#endOfLine()
    }
    return rest
  }

  #endOfLine(): void {
    const text = this.#line.toString('latin1')
    if (!text.endsWith('\r\n'))
      throw new Error(`a line of the chunk framing does not end in CRLF: ${JSON.stringify(text)}`)
    if (this.#expecting === 'trailers' && text !== '\r\n' && !text.endsWith('\r\n\r\n')) return
    this.#line = Buffer.alloc(0)
    if (this.#expecting === 'size') this.#startChunk(text.slice(0, -2))
    else if (this.#expecting === 'contentEnd') {
      if (text !== '\r\n') throw new Error(`a chunk is longer than its size says: ${JSON.stringify(text)}`)
      this.#expecting = 'size'
    } else {
      if (text !== '\r\n') this.trailers = parseHead(Buffer.from(`trailers\r\n${text}`, 'latin1')).headers
      this.#expecting = 'nothing'
      this.done = true
    }
  }

  #startChunk(line: string): void {
    const size = /^([0-9A-Fa-f]{1,8})(;.*)?$/.exec(line)
    if (!size) throw new Error(`not a chunk size: ${JSON.stringify(line)}`)
    this.#left = Number.parseInt(size[1]!, 16)
    this.#expecting = this.#left === 0 ? 'trailers' : 'content'
  }
}
