import { createServer, type Server, type Socket } from 'node:net'
import { completion, HEADERS, streamChunk, streamEnd } from './traffic.ts'

/**
 * A model server that costs as little as it can, so that the proxies in front of it are what is measured: it reads the
 * length of a request, and answers with bytes that were made beforehand.
 *
 * A request without the header `x-bench-chunks` gets 1 KB of JSON. One with it gets so many events, one every
 * `x-bench-interval` ms, and the usual end. Streams of one interval are written in one go, each a single event: so a
 * proxy finds one event in each of many connections, as it does under real load.
 */
export class Upstream {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #paces = new Map<number, Pace>()

  private constructor() {
    this.#server = createServer({ noDelay: true }, socket => this.#serve(socket))
  }

  static async start(): Promise<Upstream> {
    const upstream = new Upstream()
    await new Promise<void>((resolve, reject) => {
      upstream.#server.once('error', reject).listen(0, '127.0.0.1', 4096, resolve)
    })
    return upstream
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address ? address.port : 0
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Cuts what is open. */
  close(): void {
    for (const pace of this.#paces.values()) pace.stop()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket))
    let pending: Buffer = Buffer.alloc(0)
    socket.on('data', chunk => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      for (;;) {
        const end = pending.indexOf('\r\n\r\n')
        if (end < 0) return
        const head = pending.toString('latin1', 0, end)
        const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
        if (pending.length < end + 4 + length) return
        pending = pending.subarray(end + 4 + length)
        this.#answer(socket, head)
      }
    })
  }

  #answer(socket: Socket, head: string): void {
    const chunks = Number(/\r\nx-bench-chunks: *(\d+)/i.exec(head)?.[1] ?? 0)
    if (chunks === 0) {
      socket.write(completion)
      return
    }
    const interval = Number(/\r\nx-bench-interval: *(\d+)/i.exec(head)?.[1] ?? 1000)
    socket.write(HEADERS)
    const pace = this.#paces.get(interval) ?? new Pace(interval)
    this.#paces.set(interval, pace)
    pace.add(socket, chunks)
  }
}

/** The streams of one interval. */
class Pace {
  readonly #interval: number
  readonly #left = new Map<Socket, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(interval: number) {
    this.#interval = interval
  }

  add(socket: Socket, chunks: number): void {
    this.#left.set(socket, chunks)
    socket.once('close', () => this.#left.delete(socket))
    this.#timer ??= setInterval(() => this.#tick(), this.#interval)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    for (const [socket, left] of this.#left) {
      if (left > 0) {
        socket.write(streamChunk)
        this.#left.set(socket, left - 1)
      } else {
        socket.write(streamEnd)
        this.#left.delete(socket)
      }
    }
    if (this.#left.size === 0) this.stop()
  }
}
