import { expect, test } from 'vitest'
import { BodyReader } from './body-reader.ts'

function read(reader: BodyReader, wire: string, pieceLength: number): string {
  let rest = ''
  for (let i = 0; i < wire.length; i += pieceLength) {
    rest += reader.push(Buffer.from(wire.slice(i, i + pieceLength))).toString()
  }
  return rest
}

const content = (reader: BodyReader) => Buffer.concat(reader.content).toString()
const raw = (reader: BodyReader) => Buffer.concat(reader.raw).toString()

test.each([1, 2, 3, 7, 1000])('a chunked body in pieces of %i bytes', pieceLength => {
  const wire = '4\r\nabcd\r\n0a;name=value\r\n0123456789\r\n0\r\nX-Sum: 5\r\nX-Two: 6\r\n\r\n'
  const reader = new BodyReader({ by: 'chunked' })
  expect(read(reader, `${wire}NEXT`, pieceLength)).toBe('NEXT')
  expect(reader.done).toBe(true)
  expect(content(reader)).toBe('abcd0123456789')
  expect(raw(reader)).toBe(wire)
  expect(reader.trailers).toEqual([
    ['X-Sum', '5'],
    ['X-Two', '6'],
  ])
})

test.each([1, 3, 1000])('a counted body in pieces of %i bytes', pieceLength => {
  const reader = new BodyReader({ by: 'length', length: 5 })
  expect(read(reader, 'helloNEXT', pieceLength)).toBe('NEXT')
  expect([reader.done, content(reader), raw(reader)]).toEqual([true, 'hello', 'hello'])
})

test('a chunked body without its last chunk is not done', () => {
  const reader = new BodyReader({ by: 'chunked' })
  read(reader, '4\r\nabcd\r\n0\r\n', 1)
  expect(reader.done).toBe(false)
})

test('a body that ends with the connection is never done by itself', () => {
  const reader = new BodyReader({ by: 'close' })
  expect(read(reader, 'hello', 2)).toBe('')
  expect([reader.done, content(reader)]).toEqual([false, 'hello'])
})

test.each([
  ['xyz\r\n', /not a chunk size/],
  ['-1\r\n', /not a chunk size/],
  ['2\r\nabc\r\n', /longer than its size/],
  ['2\nab\r\n', /does not end in CRLF/],
])('malformed framing %j throws', (wire, message) => {
  expect(() => read(new BodyReader({ by: 'chunked' }), wire, 1000)).toThrow(message)
})
