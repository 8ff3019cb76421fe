import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { chunk } from '../fakes/bytes.ts'
import { Gate } from '../fakes/gate.ts'
import { type RawClient, rawClient } from '../fakes/raw-client.ts'
import { sse, streamHead } from '../fakes/sse.ts'
import { stall, wait, write } from '../fakes/steps.ts'
import { blackhole } from '../fakes/unreachable.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../fakes/upstream.ts'
import { eventually, within } from '../kit/patience.ts'
import { quietStatus } from '../kit/quiet.ts'
import { type BackendParts, backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { startWeir, type Weir } from '../kit/weir.ts'
import { heldStream, openStreams, stuckStream } from './held-streams.ts'
import { answered, DIALECTS, endOf, type WireDialect } from './wire-dialect.ts'

const [openai] = DIALECTS as [WireDialect]

let upstream: ScriptedUpstream
beforeEach(async () => {
  upstream = await scriptedUpstream()
})
afterEach(() => upstream.close())

function start(dialect: WireDialect, rest: Partial<BackendParts> = {}): Promise<Weir> {
  const backend = backendYaml({ name: 'b', url: upstream.url, provider: dialect.provider, ...rest })
  const route = routeYaml({ name: 'chat', backends: ['b'], maxWait: '20s' })
  return startWeir({ files: { 'weir.yaml': yamlFile(backend, route) } })
}

async function opened(weir: Weir): Promise<RawClient> {
  const client = await rawClient(weir.url)
  onTestFinished(() => client.close())
  return client
}

/** SIGTERM, and waits until the gateway is stopping. */
async function terminate(weir: Weir): Promise<void> {
  weir.signal('SIGTERM')
  await weir.waitForStderr(/^finishing \d+ request/)
}

/** Ends by itself within `ms`, well. */
async function expectExit(weir: Weir, ms: number): Promise<void> {
  expect(await within(weir.exited, ms, 'the exit')).toEqual({ code: 0, signal: null })
}

describe.each(DIALECTS)('SIGTERM, $name', dialect => {
  test('under a stream: it ends complete, exit code 0', async () => {
    const gate = new Gate()
    upstream.on(() => heldStream(dialect, gate))
    const weir = await start(dialect)
    const streams = await openStreams(weir.url, dialect, 3)
    await terminate(weir)
    await sleep(300)
    expect(streams.map(({ ending }) => ending)).toEqual([undefined, undefined, undefined])
    gate.open()
    await expectExit(weir, 5_000)
    expect(streams.map(each => endOf(dialect, each))).toEqual(['complete', 'complete', 'complete'])
    expect(weir.logs.map(({ outcome }) => outcome)).toEqual(['Served', 'Served', 'Served'])
    expect(upstream.open).toBe(0)
  })

  test('a stream longer than the grace period gets an error event, exit code 0', async () => {
    upstream.on(() => stuckStream(dialect))
    const weir = await start(dialect, { drain: { timeout: '1s' } })
    const [stuck] = await openStreams(weir.url, dialect, 1)
    await terminate(weir)
    await expectExit(weir, 8_000)
    expect(endOf(dialect, stuck!)).toBe('error event')
    expect(stuck!.text).toContain('shutting down')
    expect(weir.logs).toMatchObject([{ code: 'shutting_down', outcome: 'Failed', status: 200 }])
    expect(upstream.open).toBe(0)
  })

  test('a request without a response at the end of the grace period is answered, exit code 0', async () => {
    upstream.on(() => [stall()])
    const weir = await start(dialect, { drain: { timeout: '1s' } })
    const client = await opened(weir)
    await client.send(dialect.ask())
    await upstream.request(0)
    await terminate(weir)
    const response = await client.response()
    expect([endOf(dialect, response), response.status]).toEqual(['error answer', 503])
    expect(response.header('x-weir-code')).toBe('shutting_down')
    expect(response.header('connection')).toBe('close')
    await expectExit(weir, 5_000)
  })
})

test('while it stops it accepts nobody new, is not ready, and counts what still runs', async () => {
  const gate = new Gate()
  upstream.on(() => heldStream(openai, gate))
  const weir = await start(openai)
  await openStreams(weir.url, openai, 1)
  expect((await fetch(`${weir.adminUrl}/readyz`)).status).toBe(200)
  await terminate(weir)
  await eventually(() =>
    rawClient(weir.url).then(
      client => {
        client.close()
        return false
      },
      error => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED',
    ),
  )
  expect((await fetch(`${weir.adminUrl}/readyz`)).status).toBe(503)
  expect(await weir.status()).toMatchObject({ ready: false, load: { inFlight: 1 } })
  gate.open()
  await expectExit(weir, 5_000)
})

test('idle connections do not delay the exit', async () => {
  upstream.on(() => answered(openai))
  const weir = await start(openai)
  const used = await opened(weir)
  await used.send(openai.ask())
  expect(endOf(openai, await used.response())).toBe('complete')
  const fresh = [await opened(weir), await opened(weir)]
  await quietStatus(weir)
  weir.signal('SIGTERM')
  await expectExit(weir, 3_000)
  for (const client of [used, ...fresh]) expect(await client.closed).toBe('fin')
})

test('a request that is queued when the signal comes is served', async () => {
  const gate = new Gate()
  upstream.script([wait(gate), answered(openai)], answered(openai))
  const weir = await start(openai, { concurrency: { max: 1 } })
  const clients = [await opened(weir), await opened(weir)]
  for (const [i, client] of clients.entries()) {
    await client.send(openai.ask())
    await eventually(async () => (await weir.status()).load.inFlight === i + 1)
  }
  await terminate(weir)
  gate.open()
  for (const client of clients) expect(endOf(openai, await client.response())).toBe('complete')
  await expectExit(weir, 5_000)
})

test('a request on a kept-alive connection while it stops is answered, with Connection: close', async () => {
  const gate = new Gate()
  upstream.script(answered(openai), heldStream(openai, gate), answered(openai), answered(openai))
  const weir = await start(openai)
  // On a connection that was used before, its head arrives half before and half after the signal.
  const kept = await opened(weir)
  await kept.send(openai.ask())
  expect((await kept.response()).header('connection')).not.toBe('close')
  // Behind a stream on the same connection.
  const behind = await opened(weir)
  const stream = behind.next()
  await behind.send(openai.ask({ stream: true }))
  await stream.until(({ text }) => text.includes('one'))
  const ask = openai.ask()
  await kept.send(ask.subarray(0, 40))
  await sleep(100)
  await terminate(weir)
  await kept.send(ask.subarray(40))
  const late = await kept.response()
  expect([endOf(openai, late), late.header('connection')]).toEqual(['complete', 'close'])
  expect(await kept.closed).toBe('fin')

  await behind.send(ask)
  await sleep(100)
  gate.open()
  const next = behind.next()
  await next.done
  expect(endOf(openai, stream)).toBe('complete')
  expect([endOf(openai, next), next.header('connection')]).toEqual(['complete', 'close'])
  await expectExit(weir, 5_000)
  expect(weir.logs.map(({ outcome }) => outcome)).toEqual(Array(4).fill('Served'))
})

test('a client that does not read cannot hold up the exit beyond the grace period', async () => {
  const filler = chunk(sse({ choices: [{ index: 0, delta: { content: 'x'.repeat(60_000) }, finish_reason: null }] }))
  upstream.script([write(streamHead()), Array.from({ length: 400 }, () => write(filler)), stall()])
  const weir = await start(openai, { drain: { timeout: '1s' } })
  const socket = connect(Number(new URL(weir.url).port), '127.0.0.1').pause()
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.write(openai.ask({ stream: true }))
  await upstream.request(0)
  await sleep(300)
  await terminate(weir)
  await expectExit(weir, 8_000)
})

test('an attempt to connect whose request was abandoned does not hold up the exit', async () => {
  const dark = await blackhole()
  onTestFinished(() => dark.close())
  const patient = { timeouts: { connect: '30s' } }
  const route = routeYaml({ name: 'chat', backends: ['b'] })
  const files = { 'weir.yaml': yamlFile(backendYaml({ name: 'b', url: dark.url, ...patient }), route) }
  const weir = await startWeir({ files })
  const abandon = async () => {
    const client = await opened(weir)
    await client.send(openai.ask())
    await eventually(async () => (await weir.status()).backends[0]!.inFlight === 1)
    client.close()
    await quietStatus(weir)
  }
  await abandon()
  // At another address its old connections are left to end by themselves.
  await weir.edit('weir.yaml', yamlFile(backendYaml({ name: 'b', url: `${dark.url}/v2`, ...patient }), route))
  await weir.waitForApplied()
  await abandon()
  weir.signal('SIGTERM')
  await expectExit(weir, 5_000)
})

test('a second signal ends it at once', async () => {
  upstream.on(() => stuckStream(openai))
  const weir = await start(openai)
  const [stuck] = await openStreams(weir.url, openai, 1)
  await terminate(weir)
  // Closer together they are one: npm repeats the signal of a terminal.
  await sleep(700)
  weir.signal('SIGTERM')
  expect(await within(weir.exited, 2_000, 'the exit')).toEqual({ code: 143, signal: null })
  await stuck!.done
  expect(endOf(openai, stuck!)).toBe('cut')
  await within(upstream.requests[0]!.closed, 2_000, 'the end of the connection upstream')
})
