import { setTimeout as sleep } from 'node:timers/promises'
import { type Spread, spread } from './figures.ts'
import { cpuSeconds } from './machine.ts'
import type { Peer } from './peer.ts'
import { RequestLoad } from './request-load.ts'
import { StreamLoad } from './stream-load.ts'

/** Connections that ask without a pause: enough to keep a proxy busy, few enough for it to have slots for all. */
const CONNECTIONS = 32

/** Streams that run at a time and the time between their events: 5,000 events a second. */
const STREAMS = 100
const INTERVAL_MS = 20

/** Requests a second that every proxy can serve, so that all of them do the same work in the same time. */
const RATE = 3000

/** Before each measurement, for what only the first requests cost; the first round also warms up the compiler. */
const SETTLE_SECONDS = 1
const WARM_SECONDS = 4

/** What one proxy needed in one round. */
export interface Sample {
  /** CPU time for one request or event, µs. */
  micros: number
  /** Requests or events in a second. */
  rate: number
  /** CPU time by wall time. */
  busy: number
  /** Streams: pieces read for each event; 1 when each came by itself. */
  readsPerChunk?: number
}

export interface CpuResult {
  samples: Map<string, Sample[]>
  /** First peer against the second, round by round; null without a second. */
  ratio: Spread | null
}

/** One measurement of one peer, `seconds` long, after `settle` seconds of the same load. */
export type Measure = (peer: Peer, seconds: number, settle: number) => Promise<Sample>

/**
 * CPU time for one request of 1 KB that is answered with 1 KB of JSON, each connection sending its next request at once.
 * How many that are in a second is up to the proxy, and the more there are, the fewer wake-ups each one pays for.
 */
export const perRequest: Measure = (peer, seconds, settle) => requests(peer, seconds, settle)

/** The same at a rate that is the same for all. */
export const perPacedRequest: Measure = (peer, seconds, settle) => requests(peer, seconds, settle, RATE)

/** CPU time for one event of about 100 bytes in streams that run already. */
export const perChunk: Measure = async (peer, seconds, settle) => {
  const chunks = Math.ceil(((seconds + settle + 1) * 1000) / INTERVAL_MS)
  const load = new StreamLoad(peer.url, { streams: STREAMS, chunks, intervalMs: INTERVAL_MS })
  try {
    await load.allBegun()
    await sleep(settle * 1000)
    const before = { reads: load.reads, chunks: load.chunks }
    const result = await sample(
      peer,
      () => load.chunks,
      () => sleep(seconds * 1000),
    )
    const readsPerChunk = (load.reads - before.reads) / (load.chunks - before.chunks)
    await load.allEnded()
    return { ...result, readsPerChunk }
  } finally {
    load.close()
  }
}

/** All peers in turn, round after round, so that whatever else the machine does falls on all of them. */
export async function interleaved(
  measure: Measure,
  peers: readonly Peer[],
  seconds: number,
  rounds: number,
): Promise<CpuResult> {
  const samples = new Map(peers.map(peer => [peer.name, [] as Sample[]]))
  for (let round = 0; round < rounds; round++) {
    for (const peer of peers) {
      samples.get(peer.name)!.push(await measure(peer, seconds, round === 0 ? WARM_SECONDS : SETTLE_SECONDS))
    }
  }
  const [first, second] = peers.map(peer => samples.get(peer.name)!)
  const ratio = first && second ? spread(first.map(({ micros }, round) => micros / second[round]!.micros)) : null
  return { samples, ratio }
}

async function requests(peer: Peer, seconds: number, settle: number, rate?: number): Promise<Sample> {
  const load = new RequestLoad(peer.url, { connections: CONNECTIONS, rate })
  try {
    await load.run(settle)
    return await sample(
      peer,
      () => load.completed,
      () => load.run(seconds),
    )
  } finally {
    await load.stop()
  }
}

async function sample({ pid }: Peer, count: () => number, run: () => Promise<void>): Promise<Sample> {
  const before = { cpu: cpuSeconds(pid), count: count(), at: performance.now() }
  await run()
  const seconds = (performance.now() - before.at) / 1000
  const cpu = cpuSeconds(pid) - before.cpu
  const done = count() - before.count
  if (done === 0) throw new Error('nothing came through while measuring')
  return {
    micros: (cpu / done) * 1e6,
    rate: done / seconds,
    busy: cpu / seconds,
  }
}
