import { connect, type Socket } from 'node:net'
import { chatRequest } from './traffic.ts'

/** How often a paced load looks whether requests are due, ms. */
const TICK_MS = 1

export interface RequestOptions {
  connections: number
  /** Requests in a second, as long as connections are free; absent sends the next one with each answer. */
  rate?: number
}

/**
 * Sends requests over a fixed number of connections, one at a time on each. Stops at the first answer that is not a
 * 200: what is measured then is not what it says.
 */
export class RequestLoad {
  /** Answers that came whole. */
  completed = 0
  readonly #request: Buffer
  readonly #sockets: Socket[] = []
  readonly #failure = Promise.withResolvers<never>()
  /** Connections without a request; those of a paced load only. */
  readonly #free: Socket[] = []
  readonly #timer: NodeJS.Timeout | undefined
  readonly #paced: boolean
  #stopping = false

  constructor(url: string, { connections, rate }: RequestOptions) {
    const { hostname, port, host } = new URL(url)
    this.#request = chatRequest(host)
    this.#paced = rate !== undefined
    this.#failure.promise.catch(() => {})
    for (let i = 0; i < connections; i++) {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      socket.once('connect', () => this.#next(socket)).on('error', error => this.#fail(error))
      socket.on('close', () => this.#stopping || this.#fail(new Error(`${url} closed a connection`)))
      this.#read(socket)
      this.#sockets.push(socket)
    }
    if (rate !== undefined) this.#timer = this.#pace(rate)
  }

  /** Lets it run for some time. Rejects at the first failure. */
  async run(seconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<void>(resolve => {
      timer = setTimeout(resolve, seconds * 1000)
    })
    await Promise.race([over, this.#failure.promise]).finally(() => clearTimeout(timer))
  }

  /** Ends each connection after the answer that it waits for. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#timer)
    for (const socket of this.#free) socket.destroy()
    await Promise.all(
      this.#sockets.map(socket => socket.closed || new Promise<void>(done => socket.once('close', () => done()))),
    )
  }

  #pace(rate: number): NodeJS.Timeout {
    let last = performance.now()
    let due = 0
    return setInterval(() => {
      const now = performance.now()
      due += ((now - last) / 1000) * rate
      last = now
      while (due >= 1 && this.#free.length > 0) {
        due--
        this.#free.pop()!.write(this.#request)
      }
      // What could not be sent in time is not made up for: bursts are not what is measured.
      due = Math.min(due, 1)
    }, TICK_MS)
  }

  /** Gives a connection its next request. */
  #next(socket: Socket): void {
    if (this.#stopping) socket.destroy()
    else if (this.#paced) this.#free.push(socket)
    else socket.write(this.#request)
  }

  #fail(error: Error): void {
    this.#failure.reject(error)
    this.#stopping = true
    clearInterval(this.#timer)
    for (const socket of this.#sockets) socket.destroy()
  }

  #read(socket: Socket): void {
    let have: Buffer = Buffer.alloc(0)
    socket.on('data', chunk => {
      have = have.length === 0 ? chunk : Buffer.concat([have, chunk])
      const end = have.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = have.toString('latin1', 0, end)
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1])
      if (!head.startsWith('HTTP/1.1 200') || Number.isNaN(length)) {
        this.#fail(new Error(`not the expected answer: ${have.toString('latin1', 0, 1000)}`))
        return
      }
      if (have.length < end + 4 + length) return
      have = Buffer.alloc(0)
      this.completed++
      this.#next(socket)
    })
  }
}
