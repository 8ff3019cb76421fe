import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { runWorkers } from './workers.ts'
import { WorkQueue } from './workqueue.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount(), 'no timer is left').toBe(0)
  vi.useRealTimers()
})

/** No jitter to wait for: the longest wait is known. */
const BACKOFF = { baseMs: 100, maxMs: 400 }

describe('a work queue', () => {
  test('hands out each key once, in the order of arrival', async () => {
    const queue = new WorkQueue()
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['a', 'b', 'c'])
    expect(queue).toMatchObject({ length: 0, processing: 3 })
  })

  test('never hands out a key that is being worked on; added meanwhile it comes again', async () => {
    const queue = new WorkQueue()
    queue.add('a')
    await queue.get()
    queue.add('a')
    queue.add('a')
    const next = queue.get()
    queue.add('b')
    expect(await next).toBe('b')
    queue.done('a')
    expect(await queue.get()).toBe('a')
    expect(() => queue.done('c')).toThrow('not being worked on')
  })

  test('of several delays the earliest counts', async () => {
    const queue = new WorkQueue()
    queue.addAfter('a', 500)
    queue.addAfter('a', 200)
    queue.addAfter('a', 900)
    vi.advanceTimersByTime(199)
    expect(queue.length).toBe(0)
    vi.advanceTimersByTime(1)
    expect(queue.length).toBe(1)
    vi.advanceTimersByTime(1000)
    expect(queue.length).toBe(1)
  })

  test('waits longer with each failure of a key, up to a bound, until the key is forgotten', async () => {
    const queue = new WorkQueue({ backoff: BACKOFF })
    const waited: number[] = []
    for (let i = 0; i < 4; i++) {
      queue.retry('a')
      let ms = 0
      while (queue.length === 0 && ms < 2000) {
        vi.advanceTimersByTime(1)
        ms++
      }
      waited.push(ms)
      queue.done((await queue.get())!)
      expect(queue.failures('a')).toBe(i + 1)
    }
    expect(Math.max(...waited)).toBeLessThanOrEqual(600)
    queue.forget('a')
    expect(queue.failures('a')).toBe(0)
  })

  test('shut down, it takes nothing more, hands out what waits, and settles when that is done', async () => {
    const queue = new WorkQueue()
    queue.add('a')
    queue.addAfter('late', 1000)
    const drained = vi.fn()
    void queue.shutDown().then(drained)
    queue.add('b')
    expect(await queue.get()).toBe('a')
    expect(await queue.get()).toBeUndefined()
    expect(drained).not.toHaveBeenCalled()
    queue.done('a')
    await Promise.resolve()
    await Promise.resolve()
    expect(drained).toHaveBeenCalledOnce()
  })

  test('over any adds and ends: no key twice at a time, none lost', async () => {
    const step = fc.record({ add: fc.boolean(), key: fc.constantFrom('a', 'b', 'c') })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
        const queue = new WorkQueue()
        const working = new Set<string>()
        const owed = new Set<string>()
        const takeAll = async () => {
          while (queue.length > 0) {
            const key = (await queue.get())!
            expect(working.has(key)).toBe(false)
            working.add(key)
            owed.delete(key)
          }
        }
        for (const { add, key } of steps) {
          if (add) {
            queue.add(key)
            owed.add(key)
          } else if (working.delete(key)) queue.done(key)
          await takeAll()
        }
        for (const key of [...working]) {
          working.delete(key)
          queue.done(key)
          await takeAll()
        }
        expect(owed.size).toBe(0)
      }),
    )
  })
})

test('workers go on after a failure, and end with the queue', async () => {
  const queue = new WorkQueue({ backoff: BACKOFF })
  const worked: string[] = []
  const report = vi.fn()
  const running = runWorkers({
    queue,
    concurrency: 2,
    report,
    work: async key => {
      worked.push(key)
      if (worked.length === 1) throw new Error('once')
      return undefined
    },
  })
  queue.add('a')
  queue.add('b')
  await vi.advanceTimersByTimeAsync(1000)
  expect(worked.toSorted()).toEqual(['a', 'a', 'b'])
  expect(report).toHaveBeenCalledOnce()
  expect(queue.failures('a')).toBe(0)
  await queue.shutDown()
  await running
})
