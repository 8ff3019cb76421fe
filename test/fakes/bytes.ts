import { STATUS_CODES } from 'node:http'
import type { Header } from './http-head.ts'

export type Bytes = string | Uint8Array

/** Text is UTF-8. */
export function toBuffer(bytes: Bytes): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function headBytes(startLine: string, headers: readonly Header[]): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`${startLine}\r\n${lines}\r\n`, 'latin1')
}

/** The head of a response, blank line included. Nothing is added to `headers`. */
export function responseHead(status: number, headers: readonly Header[] = []): Buffer {
  return headBytes(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}`, headers)
}

/** A whole response with `content-length`; `headers` come first. */
export function response(status: number, headers: readonly Header[], body: Bytes): Buffer {
  const content = toBuffer(body)
  return Buffer.concat([responseHead(status, [...headers, ['content-length', String(content.length)]]), content])
}

/** A whole JSON response. A string is sent as it stands, so that a test can send malformed or oddly spaced JSON. */
export function jsonResponse(status: number, body: unknown, headers: readonly Header[] = []): Buffer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return response(status, [['content-type', 'application/json'], ...headers], text)
}

/** One chunk of a chunked body. */
export function chunk(content: Bytes): Buffer {
  const bytes = toBuffer(content)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

/** What ends a chunked body without trailers. */
export const LAST_CHUNK = '0\r\n\r\n'

/** Cuts `bytes` at the given ascending offsets: n offsets make n + 1 pieces. */
export function cutAt(bytes: Bytes, offsets: readonly number[]): Buffer[] {
  const whole = toBuffer(bytes)
  const edges = [0, ...offsets, whole.length]
  return edges.slice(1).map((end, i) => {
    const start = edges[i]!
    if (end < start || end > whole.length) {
      throw new Error(`offsets must ascend and lie within ${whole.length} bytes, got ${offsets.join(', ')}`)
    }
    return whole.subarray(start, end)
  })
}

export interface RequestParts {
  method?: string
  path: string
  /** In order and case as given; `host` is put first, and `content-length` last unless framing is given here. */
  headers?: readonly Header[]
  body?: Bytes
}

/** The exact bytes of a request. */
export function request({ method = 'POST', path, headers = [], body }: RequestParts): Buffer {
  const names = headers.map(([name]) => name.toLowerCase())
  const all: Header[] = names.includes('host') ? [...headers] : [['host', 'localhost'], ...headers]
  const content = body === undefined ? undefined : toBuffer(body)
  const framed = names.includes('content-length') || names.includes('transfer-encoding')
  if (content && !framed) all.push(['content-length', String(content.length)])
  return Buffer.concat([headBytes(`${method} ${path} HTTP/1.1`, all), content ?? Buffer.alloc(0)])
}

/** The bytes of a POST with a JSON body. A string body is sent as it stands. */
export function jsonRequest(path: string, body: unknown, headers: readonly Header[] = []): Buffer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return request({ path, headers: [['content-type', 'application/json'], ...headers], body: text })
}
