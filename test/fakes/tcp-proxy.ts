import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

interface Pair {
  client: Socket
  target: Socket
}

/**
 * Passes bytes between its clients and one target, TLS or not, and does to the connections what networks do: cuts,
 * stalls, closes one side, refuses. Listens on loopback.
 */
export class TcpProxy {
  readonly port: number
  readonly #target: { host: string; port: number }
  readonly #pairs = new Set<Pair>()
  #server: Server | undefined
  #stalled = false
  #accepted = 0

  /** `port` must be one that nothing else takes while the proxy refuses: below the ephemeral range. */
  static async start(target: { host: string; port: number }, port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, port)
    await proxy.accept()
    return proxy
  }

  private constructor(target: { host: string; port: number }, port: number) {
    this.#target = target
    this.port = port
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#pairs.size
  }

  /** Connections since the start. */
  get accepted(): number {
    return this.#accepted
  }

  /** Ends every connection with RST, on both sides. */
  cut(): void {
    for (const { client, target } of this.#pairs) {
      client.resetAndDestroy()
      target.resetAndDestroy()
    }
  }

  /** From now on no byte passes in either direction; new connections are accepted and hear nothing. */
  stall(): void {
    this.#stalled = true
    for (const { client, target } of this.#pairs) {
      client.pause()
      target.pause()
    }
  }

  /** Passes what was held back, and what comes. */
  resume(): void {
    this.#stalled = false
    for (const { client, target } of this.#pairs) {
      client.resume()
      target.resume()
    }
  }

  /** Sends FIN to each client, in the middle of whatever it reads, and goes on reading from it. */
  halfClose(): void {
    for (const { client, target } of this.#pairs) {
      target.unpipe(client)
      target.resume()
      client.end()
    }
  }

  /** Stops listening and cuts: further connections are refused. */
  async refuse(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.cut()
    if (server) await new Promise(resolve => server.close(resolve))
  }

  /** Listens again. */
  async accept(): Promise<void> {
    if (this.#server) return
    // A half-closed connection is half open: the other direction ends when its own side says so.
    const server = createServer({ allowHalfOpen: true }, client => this.#connect(client))
    server.listen(this.port, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
  }

  async close(): Promise<void> {
    await this.refuse()
  }

  #connect(client: Socket): void {
    this.#accepted++
    const target = connect({ ...this.#target, allowHalfOpen: true })
    const pair = { client, target }
    this.#pairs.add(pair)
    client.setNoDelay(true)
    target.setNoDelay(true)
    // An end is passed on; an abrupt end of one side is one of the other.
    client.pipe(target)
    target.pipe(client)
    const end = (other: Socket) => () => {
      this.#pairs.delete(pair)
      other.destroy()
    }
    client.on('error', () => {}).on('close', end(target))
    target.on('error', () => {}).on('close', end(client))
    if (this.#stalled) {
      client.pause()
      target.pause()
    }
  }
}
