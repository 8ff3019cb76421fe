import { chunk, LAST_CHUNK } from '../fakes/bytes.ts'
import type { Gate } from '../fakes/gate.ts'
import { rawClient } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { streamHead } from '../fakes/sse.ts'
import { type Script, stall, wait, write } from '../fakes/steps.ts'
import { within } from '../kit/patience.ts'
import type { WireDialect } from './wire-dialect.ts'

/** A stream that stops after its first content until the gate opens. */
export function heldStream({ events, prelude }: WireDialect, gate: Gate): Script {
  const begun = prelude + 1
  return [
    write(streamHead(), ...events.slice(0, begun).map(chunk)),
    wait(gate),
    ...events.slice(begun).map(event => write(chunk(event))),
    write(LAST_CHUNK),
  ]
}

/** A stream that stops for ever after its first content. */
export function stuckStream({ events, prelude }: WireDialect): Script {
  return [write(streamHead(), ...events.slice(0, prelude + 1).map(chunk)), stall()]
}

/** Asks for `count` streams, each on a connection of its own, and waits until each has brought content. */
export async function openStreams(url: string, dialect: WireDialect, count: number): Promise<RawResponse[]> {
  const streams = Array.from({ length: count }, async () => {
    const client = await rawClient(url)
    const response = client.next()
    void response.done.catch(() => {}).then(() => client.close())
    await client.send(dialect.ask({ stream: true }))
    return within(
      response.until(({ text }) => text.includes('one')),
      10_000,
      'the first content of a stream',
    )
  })
  return Promise.all(streams)
}
