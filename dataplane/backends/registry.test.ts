import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { BackendConfig } from '../config/snapshot.ts'
import { backendOf } from '../testdata/objects.ts'
import type { Backend } from './backend.ts'
import { BackendRegistry } from './registry.ts'

let registry: BackendRegistry

beforeEach(() => {
  registry = new BackendRegistry()
})
afterEach(() => registry.closeAll())

function apply(...configs: BackendConfig[]): Map<string, Backend> {
  const prepared = registry.prepare(configs)
  registry.commit(prepared, configs)
  return prepared
}

const states = () => [...registry.all()].map(({ config, state }) => `${config.uid} ${state}`)
const ignore = () => {}

describe('a removed backend', () => {
  test('without references is gone at once', () => {
    apply(backendOf('a'), backendOf('b'))
    apply(backendOf('b'))
    expect(states()).toEqual(['b Serving'])
  })

  test('serves what holds a reference, counted by model, and is gone with the last one', () => {
    const a = apply(backendOf('a')).get('a')!
    const [first, second] = [a.acquire('m', ignore), a.acquire('n', ignore)]
    apply()
    expect(states()).toEqual(['a Draining'])
    expect(a.available).toBe(false)
    expect(a.references.byModel()).toEqual({ m: 1, n: 1 })
    a.release(first)
    a.release(first)
    expect(a.references.byModel()).toEqual({ n: 1 })
    expect(states()).toEqual(['a Draining'])
    a.release(second)
    expect(states()).toEqual([])
  })

  test('ends what still runs when its drain timeout has passed', () => {
    vi.useFakeTimers()
    try {
      const a = apply(backendOf('a', { drainTimeoutMs: 5000 })).get('a')!
      const expired = vi.fn()
      const reference = a.acquire('m', () => {
        expired()
        a.release(reference)
      })
      apply()
      vi.advanceTimersByTime(4999)
      expect(expired).not.toHaveBeenCalled()
      vi.advanceTimersByTime(1)
      expect(expired).toHaveBeenCalledOnce()
      expect(states()).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a backend that is drained but configured stays to be seen, and serves again when the drain is undone', () => {
  const draining = { deadline: Date.now() + 60_000 }
  const a = apply(backendOf('a', { draining })).get('a')!
  expect(states()).toEqual(['a Closed'])
  expect(apply(backendOf('a')).get('a')).toBe(a)
  expect(a.available).toBe(true)
})

test('a configuration that is only prepared touches nothing', () => {
  const a = apply(backendOf('a')).get('a')!
  registry.prepare([backendOf('b')])
  expect(states()).toEqual(['a Serving'])
  expect(a.available).toBe(true)
})

test('retries of one backend are bounded by a share of its live requests, and a few are always allowed', () => {
  const a = apply(backendOf('a')).get('a')!
  expect([1, 2, 3, 4].map(() => a.startRetry())).toEqual([true, true, true, false])
  const references = Array.from({ length: 20 }, () => a.acquire('m', ignore))
  expect([a.startRetry(), a.startRetry()]).toEqual([true, false])
  a.endRetry()
  expect(a.startRetry()).toBe(true)
  for (const reference of references) a.release(reference)
})

describe('an edited URL', () => {
  let server: Server
  beforeEach(async () => {
    server = createServer((_request, response) => setTimeout(() => response.end('{}'), 100))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  test('gives new requests another transport and lets the running one finish', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const a = apply(backendOf('a', { url })).get('a')!
    const before = a.transport
    const answered = new Promise<number>((resolve, reject) => {
      let status = 0
      before.dispatch(
        { method: 'GET', path: '/' },
        {
          onRequestStart: ignore,
          onResponseData: ignore,
          onResponseStart: (_controller, code) => {
            status = code
          },
          onResponseEnd: () => resolve(status),
          onResponseError: (_controller, error) => reject(error),
        },
      )
    })
    apply(backendOf('a', { url: 'http://127.0.0.1:9' }))
    expect(a.transport).not.toBe(before)
    expect(await answered).toBe(200)
  })
})
