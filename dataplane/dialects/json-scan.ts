const QUOTE = 0x22
const BACKSLASH = 0x5c
const LBRACE = 0x7b
const RBRACE = 0x7d
const LBRACKET = 0x5b
const RBRACKET = 0x5d
const COLON = 0x3a
const COMMA = 0x2c

/** Deepest nesting that is accepted; the JSON parsers of common inference servers give up near 1,000. */
export const MAX_DEPTH = 1000

/** Where the wanted keys of a top-level object are: byte offsets of each value, −1 where absent. */
export interface TopLevel {
  starts: number[]
  ends: number[]
  /** A wanted key that stands twice: parsers disagree on which counts, so it must not decide anything. */
  duplicate: string | null
  /**
   * A key that differs from a wanted one only in the case of letters. Decoders that ignore case (Go's, and so Ollama)
   * take it for the wanted one, so it must not pass beside it.
   */
  lookalike: string | null
}

export class JsonScanError extends Error {
  /** Byte offset of the fault. */
  readonly offset: number
  constructor(message: string, offset: number) {
    super(`${message} at byte ${offset}`)
    this.offset = offset
  }
}

/**
 * Finds the values of top-level keys without parsing the document, so that its bytes can pass on unchanged.
 *
 * Accepts every document that `JSON.parse` accepts (up to MAX_DEPTH) when its top level is an object, and finds the
 * same values. Structure is checked: strings, brackets, the commas and colons of the top level, nothing behind the
 * end. The insides of strings, numbers and nested values are left to the upstream; they cannot move a boundary.
 *
 * @throws JsonScanError when the bytes are no JSON object
 */
export function scanTopLevel(bytes: Buffer, wanted: readonly string[]): TopLevel {
  const found: TopLevel = {
    starts: wanted.map(() => -1),
    ends: wanted.map(() => -1),
    duplicate: null,
    lookalike: null,
  }
  let at = skipSpace(bytes, 0)
  if (bytes[at] !== LBRACE) throw new JsonScanError('expected a JSON object', at)
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === RBRACE) return atEnd(bytes, at + 1, found)
  for (;;) {
    if (bytes[at] !== QUOTE) throw new JsonScanError('expected a property name in double quotes', at)
    const keyStart = at
    at = skipString(bytes, at)
    const key = readKey(bytes, keyStart, at)
    const index = wanted.indexOf(key)
    if (index < 0 && wanted.some(name => isLookalike(key, name))) found.lookalike = key
    at = skipSpace(bytes, at)
    if (bytes[at] !== COLON) throw new JsonScanError('expected ":"', at)
    at = skipSpace(bytes, at + 1)
    const start = at
    at = skipValue(bytes, at)
    if (index >= 0) {
      if (found.starts[index] !== -1) found.duplicate = wanted[index]!
      found.starts[index] = start
      found.ends[index] = at
    }
    at = skipSpace(bytes, at)
    if (bytes[at] === RBRACE) return atEnd(bytes, at + 1, found)
    if (bytes[at] !== COMMA) throw new JsonScanError('expected "," or "}"', at)
    at = skipSpace(bytes, at + 1)
  }
}

/** The value of wanted key number `index`, parsed; undefined where absent. @throws JsonScanError when malformed */
export function readValue(bytes: Buffer, found: TopLevel, index: number): unknown {
  const start = found.starts[index]!
  if (start < 0) return undefined
  try {
    return JSON.parse(bytes.toString('utf8', start, found.ends[index]!))
  } catch {
    throw new JsonScanError('malformed value', start)
  }
}

function atEnd(bytes: Buffer, at: number, found: TopLevel): TopLevel {
  const end = skipSpace(bytes, at)
  if (end !== bytes.length) throw new JsonScanError('unexpected text behind the JSON object', end)
  return found
}

function skipSpace(bytes: Buffer, at: number): number {
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

/** From an opening quote to the offset after the closing one. */
function skipString(bytes: Buffer, start: number): number {
  let at = start + 1
  // Most strings are short: a plain loop beats the call into native code; long ones (images) are left to indexOf.
  const near = Math.min(bytes.length, at + 64)
  while (at < near) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    at += byte === BACKSLASH ? 2 : 1
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) throw new JsonScanError('unterminated string', start)
    let slashes = 0
    // Never look before `at`: an escape there was consumed as a pair already.
    while (quote - 1 - slashes >= at && bytes[quote - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote + 1
    at = quote + 1
  }
}

function readKey(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString('utf8', start + 1, end - 1)
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    throw new JsonScanError('malformed property name', start)
  }
}

/** By upper case: `ſ`, which Go folds to `s`, is its own lower case. */
function isLookalike(key: string, name: string): boolean {
  return key.length === name.length && key.toUpperCase() === name.toUpperCase()
}

function skipValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return skipString(bytes, start)
  if (first === LBRACE || first === LBRACKET) return skipNested(bytes, start)
  let at = start
  while (at < bytes.length && isLiteral(bytes[at]!)) at++
  if (at === start) throw new JsonScanError('expected a value', start)
  return at
}

/** Bytes of numbers, true, false and null. */
function isLiteral(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x45
  )
}

function skipNested(bytes: Buffer, start: number): number {
  const closers: number[] = []
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = skipString(bytes, at)
      continue
    }
    if (byte === LBRACE || byte === LBRACKET) {
      if (closers.push(byte === LBRACE ? RBRACE : RBRACKET) > MAX_DEPTH) {
        throw new JsonScanError(`nested deeper than ${MAX_DEPTH} levels`, at)
      }
    } else if (byte === RBRACE || byte === RBRACKET) {
      if (closers.pop() !== byte) throw new JsonScanError('mismatched bracket', at)
      if (closers.length === 0) return at + 1
    }
    at++
  }
  throw new JsonScanError('unexpected end of the document', bytes.length)
}
