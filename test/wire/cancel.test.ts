import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { chunk, cutAt, jsonResponse } from '../fakes/bytes.ts'
import { Gate } from '../fakes/gate.ts'
import { type RawClient, rawClient, rawRequest } from '../fakes/raw-client.ts'
import { sse, streamHead } from '../fakes/sse.ts'
import { type Script, stall, wait, write } from '../fakes/steps.ts'
import { type Blackhole, blackhole } from '../fakes/unreachable.ts'
import { eventually, within } from '../kit/patience.ts'
import { quietStatus } from '../kit/quiet.ts'
import { backendYaml, policyYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { stuckStream } from './held-streams.ts'
import { stage } from './stage.ts'
import { answered, DIALECTS, endOf, streamed, type WireDialect } from './wire-dialect.ts'

const [openai] = DIALECTS as [WireDialect]

/** How a client goes away; FIN of our side alone (half-close) is taken for going away, as other proxies do. */
const WAYS: Record<string, (client: RawClient) => void> = {
  closes: client => client.close(),
  resets: client => client.abort(),
  'half-closes': client => client.end(),
}

let dark: Blackhole | undefined
afterAll(() => dark?.close())

const s = stage(['provider'], async ({ provider: url }) => {
  dark = await blackhole()
  return yamlFile(
    backendYaml({ name: 'openai', url }),
    backendYaml({ name: 'anthropic', url, provider: 'Anthropic' }),
    routeYaml({ name: 'm', models: ['m'], backends: ['openai', 'anthropic'] }),
    // One slot, so that a second request waits.
    backendYaml({ name: 'single', url, concurrency: { max: 1 } }),
    routeYaml({ name: 'single', models: ['single'], backends: ['single'], maxWait: '20s' }),
    backendYaml({ name: 'dark', url: dark.url, timeouts: { connect: '20s' } }),
    routeYaml({ name: 'dark', models: ['dark'], backends: ['dark'] }),
    backendYaml({ name: 'busy', url }),
    routeYaml({ name: 'busy', models: ['busy'], backends: ['busy'], retry: { backoff: { max: '30s' } } }),
    backendYaml({ name: 'limited', url, concurrency: { max: 1 } }),
    routeYaml({ name: 'limited', models: ['limited'], backends: ['limited'], maxWait: '20s' }),
    policyYaml({
      name: 'few',
      targetRefs: [{ kind: 'LLMRoute', name: 'limited' }],
      limits: [{ name: 'rpd', requests: 3, per: '24h' }],
    }),
  )
})
const { upstreams } = s

/** Number of requests and connections that earlier tests have left behind. */
let before = { requests: 0, connections: 0 }
beforeEach(() => {
  before = { requests: upstreams.provider.requests.length, connections: upstreams.provider.connections.length }
})

async function opened(): Promise<RawClient> {
  const client = await rawClient(s.weir.url)
  onTestFinished(() => client.close())
  return client
}

/** The first request of this test that arrives upstreams.provider. */
const arrived = () => upstreams.provider.request(before.requests)

/** Everything is given back within a second, as the wire cases demand. */
const quiet = () => quietStatus(s.weir, { timeoutMs: 1_000 })

/** The upstream connection of the test's request is closed within a second of `since`. */
async function expectClosed(since: number): Promise<void> {
  const { at, how } = await within((await arrived()).closed, 1_500, 'the end of the connection upstream')
  expect(how).not.toBe('script')
  expect(at - since).toBeLessThan(1_000)
}

async function begin({ ask, script }: { ask: Buffer; script: Script }): Promise<RawClient> {
  upstreams.provider.script(script)
  const client = await opened()
  await client.send(ask)
  await arrived()
  return client
}

describe.each(Object.entries(WAYS))('wire case 16: the client %s', (_, leave) => {
  test.each(DIALECTS)('a: while streaming, $name', async dialect => {
    const client = await begin({ ask: dialect.ask({ stream: true }), script: stuckStream(dialect) })
    await client.next().until(({ text }) => text.includes('one'))
    const since = performance.now()
    leave(client)
    await expectClosed(since)
    await quiet()
  })

  test.each(DIALECTS)('b: during a call that is no stream, $name', async dialect => {
    const client = await begin({ ask: dialect.ask(), script: [stall()] })
    await sleep(300)
    const since = performance.now()
    leave(client)
    await expectClosed(since)
    await quiet()
  })

  test.each(DIALECTS)('c: before the first byte of a stream, $name', async dialect => {
    const client = await begin({ ask: dialect.ask({ stream: true }), script: [stall()] })
    await sleep(300)
    const since = performance.now()
    leave(client)
    await expectClosed(since)
    await quiet()
  })

  test('c: before the first content, with the head and a prelude held back', async () => {
    const script = [write(streamHead(), chunk(openai.events[0]!)), stall()]
    const client = await begin({ ask: openai.ask({ stream: true }), script })
    await sleep(300)
    const since = performance.now()
    leave(client)
    await expectClosed(since)
    await quiet()
  })

  test('c: in the middle of an answer that is no stream', async () => {
    const client = await begin({ ask: openai.ask(), script: [write(cutAt(openai.answer, [200])[0]!), stall()] })
    await sleep(300)
    const since = performance.now()
    leave(client)
    await expectClosed(since)
    await quiet()
  })

  test('d: while queued: nothing is sent upstream for it, and those behind it are served', async () => {
    const gate = new Gate()
    const ask = openai.ask({ model: 'single' })
    const first = await begin({ ask, script: [wait(gate), answered(openai)] })
    const leaving = await opened()
    const behind = await opened()
    for (const [i, client] of [leaving, behind].entries()) {
      await client.send(ask)
      await eventually(async () => (await s.weir.status()).load.queued === i + 1)
    }
    leave(leaving)
    await eventually(async () => (await s.weir.status()).load.queued === 1, { timeoutMs: 1_000 })
    upstreams.provider.script(answered(openai))
    gate.open()
    expect(endOf(openai, await first.response())).toBe('complete')
    expect(endOf(openai, await behind.response())).toBe('complete')
    expect(upstreams.provider.requests.length - before.requests).toBe(2)
    await quiet()
  })

  test('while a retry waits: no further try is made', async () => {
    const busy = jsonResponse(503, openai.errorBody('busy'), [['retry-after', '1']])
    const client = await begin({ ask: openai.ask({ model: 'busy' }), script: [write(busy)] })
    await sleep(300)
    expect((await s.weir.status()).load.inFlight).toBe(1)
    leave(client)
    await quiet()
    await sleep(1_200)
    expect(upstreams.provider.requests.length - before.requests).toBe(1)
  })

  test('while its backend is being connected to', async () => {
    const client = await opened()
    await client.send(openai.ask({ model: 'dark' }))
    await eventually(async () => (await s.weir.status()).backends.find(({ name }) => name === 'dark')?.inFlight === 1)
    leave(client)
    await quiet()
  })

  test('while it still sends its body', async () => {
    const ask = openai.ask()
    const client = await opened()
    await client.send(ask.subarray(0, ask.length - 10))
    await eventually(async () => (await s.weir.status()).load.bodyBytes > 0)
    leave(client)
    await quiet()
    expect(upstreams.provider.connections.length).toBe(before.connections)
  })
})

test('wire case 16a: the client stops reading, then resets', async () => {
  const filler = chunk(sse({ choices: [{ index: 0, delta: { content: 'x'.repeat(60_000) }, finish_reason: null }] }))
  upstreams.provider.script([write(streamHead()), Array.from({ length: 400 }, () => write(filler)), stall()])
  const socket = await unreading(s.weir.url)
  socket.write(openai.ask({ stream: true }))
  const request = await arrived()
  // Far more than the buffers in between hold: the script cannot get to its end.
  await sleep(500)
  expect((await s.weir.status()).load.inFlight).toBe(1)
  const since = performance.now()
  socket.resetAndDestroy()
  const { at } = await within(request.closed, 1_500, 'the end of the connection upstream')
  expect(at - since).toBeLessThan(1_000)
  await quiet()
})

function unreading(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause()
  socket.on('error', () => {})
  return new Promise(resolve => socket.once('connect', () => resolve(socket)))
}

test('what a cancelled request left of its answer never reaches the next one', async () => {
  const [beginning, rest] = cutAt(openai.answer, [openai.answer.length - 40]) as [Buffer, Buffer]
  for (let i = 0; i < 10; i++) {
    const gate = new Gate()
    upstreams.provider.script([write(beginning), wait(gate), write(rest)], answered(openai))
    const leaving = await opened()
    await leaving.send(openai.ask())
    await upstreams.provider.request(before.requests + 2 * i)
    leaving.close()
    gate.open()
    const next = await rawRequest(s.weir.url, openai.ask())
    expect(endOf(openai, next)).toBe('complete')
  }
  await quiet()
})

test('a connection goes on after a request on it was ended by its deadline', async () => {
  const client = await begin({
    ask: openai.ask({ headers: [['x-request-timeout-ms', '300']] }),
    script: [stall()],
  })
  const late = await client.response()
  expect([endOf(openai, late), late.header('x-weir-code')]).toEqual(['error answer', 'deadline_exceeded'])
  await within((await arrived()).closed, 1_000, 'the end of the connection upstream')
  for (const stream of [true, false]) {
    upstreams.provider.script(stream ? streamed(openai) : answered(openai))
    await client.send(openai.ask({ stream }))
    expect(endOf(openai, await client.response())).toBe('complete')
  }
  await quiet()
})

test('an upstream connection is used again after a request that was cancelled in the queue', async () => {
  const gate = new Gate()
  const ask = openai.ask({ model: 'single' })
  const first = await begin({ ask, script: [wait(gate), answered(openai)] })
  const leaving = await opened()
  await leaving.send(ask)
  await eventually(async () => (await s.weir.status()).load.queued === 1)
  leaving.abort()
  await eventually(async () => (await s.weir.status()).load.queued === 0)
  gate.open()
  await first.response()
  upstreams.provider.script(answered(openai))
  await first.send(ask)
  expect(endOf(openai, await first.response())).toBe('complete')
  const connections = upstreams.provider.requests.slice(before.requests).map(({ connection }) => connection)
  expect(new Set(connections).size).toBe(1)
  await quiet()
})

test('a request that is cancelled in the queue is not charged to its rate limit', async () => {
  const gate = new Gate()
  const ask = openai.ask({ model: 'limited' })
  const first = await begin({ ask, script: [wait(gate), answered(openai)] })
  for (let i = 0; i < 2; i++) {
    const leaving = [await opened(), await opened()]
    for (const client of leaving) await client.send(ask)
    await eventually(async () => (await s.weir.status()).load.queued === 2)
    for (const client of leaving) client.close()
    await eventually(async () => (await s.weir.status()).load.queued === 0)
  }
  gate.open()
  await first.response()
  upstreams.provider.script(answered(openai), answered(openai))
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push((await rawRequest(s.weir.url, ask)).status)
  expect(statuses).toEqual([200, 200, 429])
  await quiet()
})

test('everybody who leaves is in the log as 499, once', async () => {
  const cancelled = s.weir.logs.filter(line => line.outcome === 'ClientGone')
  const ids = new Set(cancelled.map(line => line.requestId))
  expect(ids.size).toBe(cancelled.length)
  expect(cancelled.length).toBeGreaterThan(0)
  // 200 where the head had been sent.
  expect(new Set(cancelled.map(({ status }) => status))).toEqual(new Set([200, 499]))
  await quiet()
})
