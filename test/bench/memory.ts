import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayPeer } from './gateway-peer.ts'
import { residentMib } from './machine.ts'
import { StreamLoad } from './stream-load.ts'

const STREAMS = 500
const INTERVAL_MS = 1000

/** Resident memory of the gateway, MiB. */
export interface Memory {
  idle: number
  streaming: number
  after: number
}

/**
 * Memory before any request, with 500 streams that bring an event a second, and after they have ended. Each is looked
 * at after `seconds`, the last after three times as long.
 */
export async function memory(upstream: string, seconds: number): Promise<Memory> {
  const gateway = await GatewayPeer.start(upstream)
  try {
    await sleep(seconds * 1000)
    const idle = residentMib(gateway.pid)
    const options = { streams: STREAMS, chunks: Math.ceil(2 * seconds) + 2, intervalMs: INTERVAL_MS }
    const load = new StreamLoad(gateway.url, options)
    try {
      await load.allBegun()
      await sleep(2 * seconds * 1000)
      const streaming = residentMib(gateway.pid)
      await load.allEnded()
      await sleep(3 * seconds * 1000)
      return { idle, streaming, after: residentMib(gateway.pid) }
    } finally {
      load.close()
    }
  } finally {
    await gateway.stop()
  }
}
