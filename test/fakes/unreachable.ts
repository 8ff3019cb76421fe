import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/** tcpmux: below the range from which the system hands out ports, and nothing has used it for decades. */
const REFUSING_PORT = 1

/** The outcome of connecting to a loopback port, at most `timeoutMs` later. The socket stays open where it connected. */
async function probe(port: number, timeoutMs: number): Promise<{ outcome: string; socket: Socket }> {
  const socket = connect(port, '127.0.0.1')
  const outcome = await new Promise<string>(resolve => {
    socket.once('connect', () => resolve('connected'))
    socket.on('error', error => resolve((error as NodeJS.ErrnoException).code ?? error.message))
    setTimeout(() => resolve('silent'), timeoutMs).unref()
  })
  return { outcome, socket }
}

/** Origin of a loopback port that refuses connections (ECONNREFUSED). Throws where something does listen there. */
export async function refusingUrl(): Promise<string> {
  const { outcome, socket } = await probe(REFUSING_PORT, 2_000)
  socket.destroy()
  if (outcome !== 'ECONNREFUSED') throw new Error(`port ${REFUSING_PORT} does not refuse connections: ${outcome}`)
  return `http://127.0.0.1:${REFUSING_PORT}`
}

export interface Blackhole {
  url: string
  close(): Promise<void>
}

// Listens, then blocks its thread: the system queues connections that nobody ever accepts.
const LISTEN_AND_BLOCK = `
  const { createServer } = require('node:net')
  const { parentPort, workerData } = require('node:worker_threads')
  const server = createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    setImmediate(() => Atomics.wait(new Int32Array(workerData), 0, 0))
  })
`

/**
 * A port whose connections are never accepted, not even by the system: connecting to it takes for ever. It listens with
 * a backlog of one, which is filled here; Linux drops what comes after.
 */
export async function blackhole(): Promise<Blackhole> {
  const worker = new Worker(LISTEN_AND_BLOCK, { eval: true, workerData: new SharedArrayBuffer(4) })
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  const fillers: Socket[] = []
  const close = async () => {
    for (const filler of fillers) filler.destroy()
    await worker.terminate()
  }
  for (let i = 0; i < 8; i++) {
    const { outcome, socket } = await probe(port, 200)
    fillers.push(socket)
    if (outcome === 'silent') return { url: `http://127.0.0.1:${port}`, close }
  }
  await close()
  throw new Error('the system accepts more connections than the backlog allows; this fake needs Linux')
}
