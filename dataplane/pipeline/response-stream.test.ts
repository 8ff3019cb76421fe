import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { monotonicMs } from '../clock.ts'
import { openai } from '../dialects/openai.ts'
import { MAX_HELD_EVENT } from '../dialects/sse.ts'
import { StreamResponse } from './response-stream.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const CONTENT = 'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'

function stream() {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const written: string[] = []
  vi.spyOn(response, 'write').mockImplementation((chunk: unknown) => written.push(String(chunk)) > 0)
  const client = { dialect: openai, requestId: 'id', response, streamed: true, commit: () => {} }
  const body = new StreamResponse(client, 200, {}, { usage: null, finished: false, terminated: false, failed: false })
  return { body, written }
}

test('after each silence a comment is written, between events', () => {
  const { body, written } = stream()
  body.data(Buffer.from(CONTENT))
  for (let i = 0; i < 3; i++) {
    vi.advanceTimersByTime(15_000)
    expect(body.wake(monotonicMs())).toBeNull()
  }
  expect(written).toEqual([CONTENT, ...Array(3).fill(': keep-alive\n\n')])
})

test('in the middle of an event none is, and it is not asked for again at once', () => {
  const { body, written } = stream()
  body.data(Buffer.from(CONTENT))
  body.data(Buffer.from(`data: ${'x'.repeat(MAX_HELD_EVENT)}`))
  vi.advanceTimersByTime(15_000)
  expect(body.wake(monotonicMs())).toBeNull()
  expect(written).toHaveLength(2)
  expect(body.wakeAt()).toBe(monotonicMs() + 15_000)
})
