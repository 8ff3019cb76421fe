import { expect, test } from 'vitest'
import { chunk, cutAt, jsonRequest, jsonResponse, request, responseHead } from './bytes.ts'
import { contentLength, headerValue, parseHead } from './http-head.ts'
import { anthropicEvent, chatChunk, DONE, sse } from './sse.ts'

test('responses and requests are the bytes one would write by hand', () => {
  expect(responseHead(429, [['Retry-After', '7']]).toString()).toBe(
    'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n\r\n',
  )
  expect(jsonResponse(200, { ä: 1 }).toString()).toBe(
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{"ä":1}',
  )
  expect(jsonRequest('/v1/x', '{ }', [['X-A', '1']]).toString()).toBe(
    'POST /v1/x HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nX-A: 1\r\ncontent-length: 3\r\n\r\n{ }',
  )
  expect(request({ method: 'GET', path: '/', headers: [['Host', 'a']] }).toString()).toBe(
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  )
  expect(request({ path: '/', headers: [['Transfer-Encoding', 'chunked']], body: '0\r\n\r\n' }).toString()).toBe(
    'POST / HTTP/1.1\r\nhost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  )
  expect(chunk('0123456789abcdef').toString()).toBe('10\r\n0123456789abcdef\r\n')
})

test('cutting keeps every byte and refuses offsets that cannot be', () => {
  expect(cutAt('hello', [1, 4]).map(String)).toEqual(['h', 'ell', 'o'])
  expect(() => cutAt('hello', [4, 1])).toThrow(/ascend/)
  expect(() => cutAt('hello', [6])).toThrow(/within 5 bytes/)
})

test('events', () => {
  expect(sse({ a: 1 }, 'x')).toBe('event: x\ndata: {"a":1}\n\n')
  expect(DONE).toBe('data: [DONE]\n\n')
  expect(chatChunk({ content: 'x' })).toMatch(
    /^data: \{.*"choices":\[\{"index":0,"delta":\{"content":"x"\},"finish_reason":null\}\]\}\n\n$/,
  )
  expect(anthropicEvent('ping')).toBe('event: ping\ndata: {"type":"ping"}\n\n')
})

test('heads are read in order and case, and what is no header is refused', () => {
  const head = parseHead(Buffer.from('GET / HTTP/1.1\r\nX-B:  two \r\nx-a: 1\r\nX-B: three\r\n\r\n'))
  expect(head.startLine).toBe('GET / HTTP/1.1')
  expect(head.headers).toEqual([
    ['X-B', 'two'],
    ['x-a', '1'],
    ['X-B', 'three'],
  ])
  expect(headerValue(head.headers, 'X-A')).toBe('1')
  expect(() => headerValue(head.headers, 'x-b')).toThrow(/stands 2 times/)
  expect(() => parseHead(Buffer.from('GET / HTTP/1.1\r\nbad header\r\n\r\n'))).toThrow(/not a header line/)
  expect(() => parseHead(Buffer.from('GET / HTTP/1.1\r\nspace : 1\r\n\r\n'))).toThrow(/not a header line/)
  expect(() => contentLength([['Content-Length', '1x']])).toThrow(/no number/)
})
