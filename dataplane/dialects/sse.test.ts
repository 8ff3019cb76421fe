import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyStream, readStream, STREAMS } from '../testdata/event-stream.ts'
import { eachEvent, MAX_HELD_EVENT, SseFramer } from './sse.ts'

function eventsIn(bytes: Buffer): [string, string][] {
  const events: [string, string][] = []
  eachEvent(bytes, (event, data) => events.push([event, data]))
  return events
}

function cut(bytes: Buffer, at: number[]): Buffer[] {
  const ends = [...new Set([0, ...at, bytes.length])].sort((a, b) => a - b)
  return ends.slice(1).map((end, i) => bytes.subarray(ends[i], end))
}

/**
 * Sends a stream in pieces and checks after each one that only whole events are out (unless one is under way) and that
 * no whole event is kept; then that all bytes came out, in order, and made the same events.
 */
function checkPieces(bytes: Buffer, pieces: Buffer[]): void {
  const framer = new SseFramer()
  const { boundaries, events } = readStream(bytes)
  const out: Buffer[] = []
  const seen: [string, string][] = []
  let sent = 0
  let passed = 0
  let partial = false
  for (const piece of pieces) {
    const wasMidEvent = framer.midEvent
    sent += piece.length
    const some = framer.push(piece)
    if (some) out.push(some)
    passed += some?.length ?? 0
    partial ||= wasMidEvent || framer.midEvent
    if (some && !wasMidEvent && !framer.midEvent) seen.push(...eventsIn(some))
    if (!framer.midEvent && passed > 0) expect(boundaries, `passed after ${sent} bytes`).toContain(passed)
    // A CR at the end may yet be half a line end, and one empty line at the very beginning ends nothing.
    const whole = boundaries.filter(end => end < sent || (end === sent && bytes[end - 1] !== 13))
    expect(passed, `passed after ${sent} bytes`).toBeGreaterThanOrEqual(Math.max(0, ...whole.filter(end => end > 2)))
  }
  const rest = framer.flush()
  if (rest) out.push(rest)
  expect(Buffer.concat(out).equals(bytes)).toBe(true)
  if (!partial) expect([...seen, ...(rest ? eventsIn(rest) : [])]).toEqual(events)
  expect(framer.flush()).toBeNull()
}

describe('a stream in pieces comes out byte for byte, in whole events', () => {
  describe.each(Object.entries(STREAMS))('with %s', (_, text) => {
    const bytes = Buffer.from(text)

    test('cut at every place', () => {
      for (let at = 0; at <= bytes.length; at++) checkPieces(bytes, cut(bytes, [at]))
    })

    test('cut at every two places', () => {
      for (let a = 0; a <= bytes.length; a++) {
        for (let b = a; b <= bytes.length; b++) checkPieces(bytes, cut(bytes, [a, b]))
      }
    })

    test('byte by byte', () => {
      checkPieces(bytes, cut(bytes, [...bytes.keys()]))
    })
  })

  test('whatever the stream and the cuts', () => {
    fc.assert(
      fc.property(anyStream, fc.array(fc.nat(120), { maxLength: 8 }), (bytes, cuts) => {
        checkPieces(
          bytes,
          cut(
            bytes,
            cuts.filter(at => at < bytes.length),
          ),
        )
      }),
      { numRuns: 3000 },
    )
  })

  test('with empty pieces between', () => {
    const bytes = Buffer.from('data: 1\n\ndata: 2\n\n')
    const empty = Buffer.alloc(0)
    checkPieces(bytes, [empty, bytes.subarray(0, 5), empty, empty, bytes.subarray(5), empty])
  })
})

describe('an event larger than what is held', () => {
  const line = (size: number, end: string) => `data: ${'x'.repeat(size)}${end}`

  test.each(['\n\n', '\r\n\r\n', '\r\r'])('passes while it comes and ends with %j', end => {
    const bytes = Buffer.from(`data: 1${end}${line(2 * 1024 * 1024, end)}data: 2${end}data: [DONE]${end}`)
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { minLength: 1, maxLength: 80 }), cuts => {
        checkPieces(bytes, cut(bytes, cuts))
      }),
      { numRuns: 25 },
    )
  })

  test('may be cut anywhere in its end', () => {
    for (const end of ['\n\n', '\r\n\r\n', '\r\r', '\n\r\n', '\r\n\n']) {
      const bytes = Buffer.from(`${line(MAX_HELD_EVENT + 10, end)}data: 2${end}`)
      const from = MAX_HELD_EVENT + 14
      for (let a = from; a <= bytes.length; a++) {
        for (let b = a; b <= bytes.length; b++) checkPieces(bytes, cut(bytes, [MAX_HELD_EVENT + 8, a, b]))
      }
    }
  })

  test('is under way from the first byte that passed to its last one', () => {
    const framer = new SseFramer()
    expect(framer.push(Buffer.from(line(MAX_HELD_EVENT - 6, '')))).toBeNull()
    expect(framer.midEvent).toBe(false)
    expect(framer.push(Buffer.from('xx'))?.length).toBe(MAX_HELD_EVENT + 2)
    expect(framer.midEvent).toBe(true)
    expect(framer.push(Buffer.from('x\n'))?.toString()).toBe('x\n')
    expect(framer.midEvent).toBe(true)
    expect(framer.push(Buffer.from('\ndata: 2'))?.toString()).toBe('\n')
    expect(framer.midEvent).toBe(false)
    expect(framer.flush()?.toString()).toBe('data: 2')
  })
})

describe('the events of a run', () => {
  test.each(Object.entries(STREAMS))('are those that the standard reads: %s', (_, text) => {
    expect(eventsIn(Buffer.from(text))).toEqual(readStream(Buffer.from(text)).events)
  })

  test('are those that the standard reads, whatever the stream', () => {
    fc.assert(
      fc.property(anyStream, bytes => {
        expect(eventsIn(bytes)).toEqual(readStream(bytes).events)
      }),
      { numRuns: 3000 },
    )
  })

  test('have their data joined by line breaks, less one space each', () => {
    expect(eventsIn(Buffer.from(STREAMS['data over several lines']!))).toEqual([['', 'a\n b\nc\n\nd']])
  })

  test('do not include comments and events without data', () => {
    expect(eventsIn(Buffer.from(': WAIT\n\nevent: x\n\ndata:\n\nid: 1\n\n'))).toEqual([])
  })

  test('begin behind a byte order mark', () => {
    expect(eventsIn(Buffer.from('\ufeffdata: {"error":1}\n\n'))).toEqual([['', '{"error":1}']])
  })
})
