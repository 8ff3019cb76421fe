import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { monotonicMs } from '../clock.ts'

/**
 * Connections on which no byte has come yet. Node takes them for busy ones: `closeIdleConnections` leaves them, and a
 * server that closes would wait for them until its headers timeout.
 */
export class SilentConnections {
  readonly #openedAt = new Map<Socket, number>()

  constructor(server: Server) {
    server.on('connection', socket => {
      this.#openedAt.set(socket, monotonicMs())
      socket.once('close', () => this.#openedAt.delete(socket))
    })
  }

  /** Closes those that have been open for at least `ms`; younger ones may have a request under way. */
  close(ms: number): void {
    const now = monotonicMs()
    for (const [socket, openedAt] of this.#openedAt) {
      if (socket.bytesRead === 0 && now - openedAt >= ms) socket.destroy()
    }
  }
}
