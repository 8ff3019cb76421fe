import fc from 'fast-check'

/** The reading of an event stream as WHATWG HTML §9.2.6 words it, byte by byte and without any hurry. */
export interface Reading {
  /** `event:` and `data:` of each event; one that the stream's end leaves unfinished counts too. */
  events: [string, string][]
  /** Offsets behind each empty line. */
  boundaries: number[]
}

export function readStream(bytes: Buffer): Reading {
  const boundaries: number[] = []
  const events: [string, string][] = []
  let name = ''
  let data: string[] = []
  const dispatch = () => {
    if (data.join('\n') !== '') events.push([name, data.join('\n')])
    name = ''
    data = []
  }
  let at = bytes.subarray(0, 3).equals(Buffer.from('\ufeff')) ? 3 : 0
  while (at < bytes.length) {
    let end = at
    while (end < bytes.length && bytes[end] !== 10 && bytes[end] !== 13) end++
    const line = bytes.toString('utf8', at, end)
    const empty = end === at
    const ended = end < bytes.length
    at = bytes[end] === 13 && bytes[end + 1] === 10 ? end + 2 : end + 1
    if (empty) {
      dispatch()
      if (ended) boundaries.push(at)
      continue
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line)!
    if (field === 'event') name = value!
    if (field === 'data') data.push(value!)
  }
  dispatch()
  return { events, boundaries }
}

/** Streams as real servers and unreal ones write them. */
export const STREAMS: Record<string, string> = {
  'line feeds': 'data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n',
  'carriage returns and line feeds': 'event: ping\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n',
  'carriage returns': 'data: 1\r\revent: x\rdata: 2\r\rdata: 3\r\r',
  'every mix of line ends': 'data: 1\n\r\ndata: 2\r\n\ndata: 3\r\n\rdata: 4\n\rdata: 5\r\r\ndata: 6\n\n',
  'comments and empty fields': ': WAIT\n\n:\n\ndata\n\ndata:\n\nevent\ndata: x\n\n:a\ndata: y\n:b\n\n',
  'data over several lines': 'data: a\ndata:  b\ndata:c\r\ndata:\ndata: d\n\n',
  'other fields': 'id: 1\nretry: 5\ndatax: no\n data: no\nevent: message\ndata: yes: and\n\n',
  'characters of several bytes': 'data: ü€😀\n\ndata: \u2028\u0085\n\n',
  'empty lines before, between and behind': '\n\n\ndata: 1\n\n\n\ndata: 2\n\n\n',
  'no final empty line': 'data: 1\n\ndata: {"last":true}\n',
  'no final line end': 'event: a\ndata: 1\n\nevent: b\ndata: 2',
  'a byte order mark': '\ufeffdata: 1\n\ndata: 2\n\n',
  'only a comment': ': keep-alive\n\n',
  nothing: '',
}

/** Streams made of pieces that matter, in any order. */
export const anyStream: fc.Arbitrary<Buffer> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\r\r', '\r\n\r\n') },
      { weight: 3, arbitrary: fc.constantFrom('data: x', 'data:', 'data', 'event: e', ':c', 'id: 1', ' ', ':', 'é') },
    ),
    { maxLength: 24 },
  )
  .map(parts => Buffer.from(parts.join('')))
