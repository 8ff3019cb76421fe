const LF = 10
const CR = 13

/**
 * Bytes of an unfinished event that are held back. Beyond it they pass as they come, so that a single event of
 * megabytes costs no memory; a failure inside such an event can then only cut the connection.
 */
export const MAX_HELD_EVENT = 64 * 1024

/**
 * Cuts a byte stream at event boundaries, without copying or decoding: what comes out is what went in. An event ends
 * with an empty line; lines end with LF, CRLF or CR (WHATWG HTML §9.2.6).
 */
export class SseFramer {
  /** An event larger than MAX_HELD_EVENT has been passed on in part. */
  midEvent = false
  #held: Buffer | null = null
  /** The last bytes that were passed on while `midEvent`, where a boundary may straddle two chunks. */
  #passed: Buffer | null = null

  /** Takes a chunk; returns the bytes that may pass on now, or null. While `midEvent` is false they are whole events. */
  push(chunk: Buffer): Buffer | null {
    if (this.midEvent) return this.#pushMidEvent(chunk)
    const bytes = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    const end = lastBoundary(bytes)
    if (end === bytes.length) {
      this.#held = null
      return bytes
    }
    if (end > 0) {
      this.#held = bytes.subarray(end)
      return bytes.subarray(0, end)
    }
    if (bytes.length <= MAX_HELD_EVENT) {
      this.#held = bytes
      return null
    }
    this.midEvent = true
    this.#held = null
    this.#passed = bytes.subarray(-3)
    return bytes
  }

  /** What is left when the stream ends: bytes after the last boundary, or null. */
  flush(): Buffer | null {
    const rest = this.#held
    this.#held = null
    return rest
  }

  #pushMidEvent(chunk: Buffer): Buffer {
    const passed = this.#passed ?? chunk.subarray(0, 0)
    const bytes = Buffer.concat([passed, chunk])
    const end = lastBoundary(bytes)
    if (end <= passed.length) {
      this.#passed = bytes.subarray(-3)
      return chunk
    }
    this.midEvent = false
    this.#passed = null
    if (end < bytes.length) this.#held = bytes.subarray(end)
    return bytes.subarray(passed.length, end)
  }
}

/**
 * The offset after the last empty line, or 0; `bytes` begins with a line. A CR at the very end is not counted: its LF
 * may still come.
 */
function lastBoundary(bytes: Buffer): number {
  for (let i = bytes.length - 1; i >= 0; i--) {
    const byte = bytes[i]
    if (byte === LF) {
      const before = bytes[i - 1] === CR ? i - 2 : i - 1
      if (before < 0 || isLineEnd(bytes[before])) return i + 1
    } else if (byte === CR && i + 1 < bytes.length && bytes[i + 1] !== LF) {
      if (i === 0 || isLineEnd(bytes[i - 1])) return i + 1
    }
  }
  return 0
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR
}

/** Calls back for each event in a run of whole events with its `event:` and joined `data:` fields. */
export function eachEvent(events: Buffer, visit: (event: string, data: string) => void): void {
  let name = ''
  let data: string | null = null
  // A stream may begin with a byte order mark, as .NET servers write it.
  for (const line of events
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)) {
    if (line === '') {
      // An event without data is none.
      if (data) visit(name, data)
      name = ''
      data = null
      continue
    }
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon < 0 ? line : line.slice(0, colon)
    let value = colon < 0 ? '' : line.slice(colon + 1)
    if (value.startsWith(' ')) value = value.slice(1)
    if (field === 'data') data = data === null ? value : `${data}\n${value}`
    else if (field === 'event') name = value
  }
  if (data) visit(name, data)
}
