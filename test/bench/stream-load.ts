import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { chatRequest } from './traffic.ts'

export interface StreamOptions {
  streams: number
  /** Events of each stream, without those of its end. */
  chunks: number
  intervalMs: number
}

const EVENT = 'data: {'
const TERMINATOR = '[DONE]'

/** A number of streams that are open at the same time, one a connection, each read to its end. */
export class StreamLoad {
  /** Events that have come, the two at the end of a stream included. */
  chunks = 0
  /** Pieces in which they came; close to `chunks` when events come singly. */
  reads = 0
  /** Streams that have begun, and those that ended whole. */
  begun = 0
  ended = 0
  readonly #streams: number
  readonly #sockets: Socket[] = []
  #failure: Error | undefined

  constructor(url: string, { streams, chunks, intervalMs }: StreamOptions) {
    const { hostname, port, host } = new URL(url)
    this.#streams = streams
    const headers = `x-bench-chunks: ${chunks}\r\nx-bench-interval: ${intervalMs}\r\n`
    const request = chatRequest(host, { stream: true, headers })
    for (let i = 0; i < streams; i++) {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      socket.once('connect', () => socket.write(request)).on('error', error => this.#fail(error))
      this.#read(socket)
      this.#sockets.push(socket)
    }
  }

  /** Waits until every stream has brought its first event. */
  async allBegun(): Promise<void> {
    await this.#until('all streams have begun', () => this.begun === this.#streams)
  }

  /** Waits until every stream has ended whole. Rejects when one did not. */
  async allEnded(): Promise<void> {
    await this.#until('all streams have ended', () => this.ended === this.#streams)
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.close()
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + 30_000
    while (!holds()) {
      if (this.#failure) throw this.#failure
      if (performance.now() > deadline) throw new Error(`not within 30 s: ${what} (${this.begun}, ${this.ended})`)
      await sleep(10)
    }
  }

  #read(socket: Socket): void {
    let begun = false
    let whole = false
    socket.on('data', chunk => {
      let events = 0
      for (let at = chunk.indexOf(EVENT); at >= 0; at = chunk.indexOf(EVENT, at + EVENT.length)) events++
      if (events > 0) {
        this.chunks += events
        this.reads++
        if (!begun) this.begun++
        begun = true
      } else if (!begun && !chunk.toString('latin1', 0, 12).startsWith('HTTP/1.1 200')) {
        this.#fail(new Error(`not the expected answer: ${chunk.toString('latin1', 0, 1000)}`))
        return
      }
      if (chunk.includes(TERMINATOR)) {
        whole = true
        this.ended++
        socket.destroy()
      }
    })
    socket.on('close', () => whole || this.#fail(new Error('a stream was cut')))
  }
}
