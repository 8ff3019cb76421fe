import { type AddressInfo, createServer, type Server } from 'node:net'
import { within } from '../kit/patience.ts'
import { jsonResponse } from './bytes.ts'
import { early, type Script, write } from './steps.ts'
import { UpstreamConnection } from './upstream-connection.ts'
import type { UpstreamRequest } from './upstream-request.ts'

export type Handler = (request: UpstreamRequest) => Script | Promise<Script>

export interface UpstreamOptions {
  /** Where to listen; absent takes a free port. */
  port?: number
  /** Scripts go on after the other side has sent FIN. Absent: FIN ends the script and the connection, as servers do. */
  halfOpen?: boolean
}

/**
 * A server on a raw socket that does exactly what its scripts say and records exactly what it receives. Scripts given
 * with `script` are used up first, one a request in the order of arrival; then the handler is asked. A request that has
 * neither gets a 500 and is a fault, as is a request that is no HTTP/1.1.
 */
export class ScriptedUpstream {
  /** Every request whose head has arrived, in order. */
  readonly requests: UpstreamRequest[] = []
  /** Every connection ever accepted, in order. */
  readonly connections: UpstreamConnection[] = []
  /** What should not have happened; `close` throws when there is any. A test that means it empties the list. */
  readonly faults: Error[] = []
  readonly port: number
  /** Origin, such as `http://127.0.0.1:40123`. */
  readonly url: string
  readonly #server: Server
  readonly #scripts: Script[] = []
  #handler: Handler | undefined
  #handlerAtHead = false
  #waiting: { count: number; resolve: () => void }[] = []

  constructor(server: Server, halfOpen: boolean) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.url = `http://127.0.0.1:${this.port}`
    server.on('connection', socket => {
      const scripts = { take: this.#take.bind(this), fault: (error: Error) => void this.faults.push(error) }
      this.connections.push(new UpstreamConnection(this.connections.length, socket, scripts, halfOpen))
    })
  }

  /** Adds scripts, each for one request. */
  script(...scripts: Script[]): this {
    this.#scripts.push(...scripts)
    return this
  }

  /**
   * Sets what answers the requests that have no script, in place of what was set before. It is asked once the body is
   * complete, or `at: 'head'` as soon as the head is; its script then begins at once where it starts with `early`.
   */
  on(handler: Handler, { at = 'body' }: { at?: 'head' | 'body' } = {}): this {
    this.#handler = handler
    this.#handlerAtHead = at === 'head'
    return this
  }

  /** The request with that number (from 0), once its head has arrived. Rejects after `timeoutMs`. */
  async request(index: number, timeoutMs = 5_000): Promise<UpstreamRequest> {
    if (this.requests.length <= index) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.push({ count: index + 1, resolve })
      await within(promise, timeoutMs, `request ${index} at the upstream`)
    }
    return this.requests[index]!
  }

  /** Connections that are open now. */
  get open(): number {
    return this.connections.filter(connection => connection.isOpen).length
  }

  /** Cuts every connection and stops listening. Throws the faults, if there were any. */
  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    for (const connection of this.connections) connection.destroy()
    await closed
    if (this.faults.length > 0) throw new AggregateError(this.faults, this.faults.map(String).join('; '))
  }

  #take(request: UpstreamRequest): Script | (() => Script | Promise<Script>) {
    request.index = this.requests.length
    this.requests.push(request)
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (count <= this.requests.length) resolve()
      return count > this.requests.length
    })
    const script = this.#scripts.shift()
    if (script) return script
    const handler = this.#handler
    if (!handler) {
      const message = `no script for request ${request.index}, ${request.method} ${request.path}`
      this.faults.push(new Error(message))
      return [early(), write(jsonResponse(500, { error: { message } }))]
    }
    if (this.#handlerAtHead) return () => handler(request)
    return async () => ((await request.complete) ? handler(request) : [])
  }
}

/** Starts a scripted upstream on the loopback address. Whoever starts it closes it. */
export async function scriptedUpstream({
  port = 0,
  halfOpen = false,
}: UpstreamOptions = {}): Promise<ScriptedUpstream> {
  const server = createServer({ allowHalfOpen: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return new ScriptedUpstream(server, halfOpen)
}
