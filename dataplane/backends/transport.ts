import { Socket } from 'node:net'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { BackendConfig } from '../config/snapshot.ts'
import { apiRoot } from '../dialects/operations.ts'

/**
 * The connections to one endpoint. Owned by its Backend: `close` when no more requests will be sent, and those that run
 * finish first; `destroy` when none runs any more. HTTP/1.1 only, one request a connection at a time, so that a
 * connection is a slot.
 */
export class Transport {
  /** What decides whether a new configuration needs new connections. */
  readonly key: string
  readonly #pool: Pool
  readonly #connecting = new Set<Socket>()
  readonly #root: string
  readonly #query: string

  constructor(config: BackendConfig) {
    this.key = transportKey(config)
    const url = new URL(config.url)
    this.#root = apiRoot(config.provider, url.pathname)
    this.#query = url.search.slice(1)
    this.#pool = new Pool(url.origin, {
      // Never fewer connections than slots: a request that has a slot must not wait for a connection.
      connections: config.concurrencyMax,
      pipelining: 1,
      connect: this.#connector(config.timeouts.connectMs),
      // undici's own limits of 300 s end answers of thinking models; the attempt keeps its own time.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Below the idle limit of common servers (Node 5 s, uvicorn 5 s): fewer requests meet a closing connection.
      keepAliveTimeout: 4000,
      maxHeaderSize: 64 * 1024,
    })
  }

  /** The path and query to request: the backend's root and query, the operation's path, the client's own query. */
  target(operationPath: string, clientQuery: string): string {
    const query = this.#query && clientQuery ? `${this.#query}&${clientQuery}` : this.#query || clientQuery
    return this.#root + operationPath + (query && `?${query}`)
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#pool.dispatch(options, handler)
  }

  /** Resolves when the last request has ended and nothing is left open. */
  async close(): Promise<void> {
    // Rejects only when it was destroyed meanwhile.
    await this.#pool.close().catch(() => undefined)
  }

  destroy(): void {
    this.#pool.destroy().catch(() => undefined)
    // The pool leaves sockets that still connect to their timeout, which would hold up the end of the process.
    for (const socket of this.#connecting) socket.destroy()
  }

  #connector(timeout: number): buildConnector.connector {
    const connect = buildConnector({ timeout, allowH2: false })
    return (options, callback) => {
      const socket: unknown = connect(options, (...result) => {
        if (socket instanceof Socket) this.#connecting.delete(socket)
        callback(...result)
      })
      if (socket instanceof Socket) this.#connecting.add(socket)
    }
  }
}

export function transportKey(config: BackendConfig): string {
  return JSON.stringify([config.provider, config.url, config.concurrencyMax, config.timeouts.connectMs])
}
