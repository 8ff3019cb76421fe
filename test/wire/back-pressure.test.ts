import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { chunk, LAST_CHUNK, responseHead } from '../fakes/bytes.ts'
import type { Gate } from '../fakes/gate.ts'
import { RawClient } from '../fakes/raw-client.ts'
import { streamHead } from '../fakes/sse.ts'
import { type Script, wait, write } from '../fakes/steps.ts'
import { within } from '../kit/patience.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { ask, FORMATS, type Format } from './formats.ts'
import { stage } from './stage.ts'

const MIB = 1024 * 1024

/** More than all the buffers of the system between the upstream and the client, which grow to some 10 MiB a socket. */
const TOTAL = 96 * MIB
const MOST_BUFFERED = 48 * MIB

const s = stage(['up'], ({ up }) =>
  yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: dialect, url: up, provider, timeouts: { idle: '1s' } }),
      routeYaml({ name: dialect, models: [dialect], backends: [dialect] }),
    ]),
  ),
)

/** A client that has sent its request and reads nothing. */
async function deafClient(bytes: Buffer): Promise<Socket> {
  const { hostname, port } = new URL(s.weir.url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  await once(socket, 'connect')
  socket.write(bytes)
  return socket
}

/** Writes `pieces`, and counts in `taken` the bytes that the system has taken from the upstream. */
function counted(pieces: Iterable<Buffer>): { script: Script; taken: () => number } {
  let taken = 0
  const passing = (bytes: number): Gate => ({
    get opened() {
      taken += bytes
      return Promise.resolve()
    },
    open: () => {},
  })
  const script = [...pieces].flatMap(piece => [write(piece), wait(passing(piece.length))])
  return { script, taken: () => taken }
}

/** Waits until `count` has stood still for half a second. */
async function standstill(count: () => number): Promise<void> {
  for (;;) {
    const before = count()
    await sleep(500)
    if (before > 0 && count() === before) return
  }
}

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (_dialect, format) => {
  test('a client that stops reading a stream pauses the upstream, and then gets every byte', async () => {
    const event = Buffer.from(format.content('x'.repeat(32 * 1024)))
    const count = Math.ceil(TOTAL / event.length)
    const tail = Buffer.from(format.ending.join(''))
    await pausesAndResumes(
      format,
      { stream: true },
      streamHead(),
      [...Array.from({ length: count }, () => chunk(event)), Buffer.concat([chunk(tail), Buffer.from(LAST_CHUNK)])],
      Buffer.concat([...Array.from({ length: count }, () => event), tail]),
    )
  })

  test('a client that stops reading a document pauses the upstream, and then gets every byte', async () => {
    const padding = Buffer.from(`"${'0123456789abcdef'.repeat(4096)}",`)
    const count = Math.ceil(TOTAL / padding.length)
    const pieces = [Buffer.from('{"a":['), ...Array.from({ length: count }, () => padding), Buffer.from('1]}')]
    const whole = Buffer.concat(pieces)
    const head = responseHead(200, [
      ['content-type', 'application/json'],
      ['content-length', String(whole.length)],
    ])
    await pausesAndResumes(format, {}, head, pieces, whole)
  })
})

async function pausesAndResumes(format: Format, more: object, head: Buffer, pieces: Buffer[], whole: Buffer) {
  const { script, taken } = counted(pieces)
  s.upstreams.up.script([write(head), script])
  const socket = await deafClient(ask(format, format.dialect, more))
  try {
    await within(standstill(taken), 15_000, 'the pause of the upstream')
    // Longer than the idle timeout: a backend that is not let to send is not silent.
    await sleep(1_200)
    expect(taken()).toBeLessThan(MOST_BUFFERED)
    const client = new RawClient(socket)
    const answer = await client.response({ timeoutMs: 20_000 })
    expect([answer.status, answer.clean]).toEqual([200, true])
    expect(answer.body.equals(whole)).toBe(true)
  } finally {
    socket.destroy()
  }
}
