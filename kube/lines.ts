import { ConnectionError } from './api-error.ts'

/**
 * The lines of a byte stream, without their ends; empty ones are left out. A line over `maxBytes` is a
 * `ConnectionError`, so that a broken server cannot fill the memory. Pulls from `source` only as fast as it is read.
 */
export async function* linesOf(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string, void> {
  let parts: Buffer[] = []
  let held = 0
  for await (const bytes of source) {
    let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      checkLength(held + end, maxBytes)
      // Cut at a byte that no UTF-8 sequence contains, so characters stay whole.
      const line = Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8')
      parts = []
      held = 0
      rest = rest.subarray(end + 1)
      if (line !== '') yield line
    }
    held += rest.length
    checkLength(held, maxBytes)
    if (rest.length > 0) parts.push(rest)
  }
  const last = Buffer.concat(parts).toString('utf8')
  if (last !== '') yield last
}

function checkLength(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new ConnectionError('Answer', `a line of the stream is longer than ${maxBytes} bytes`)
}
