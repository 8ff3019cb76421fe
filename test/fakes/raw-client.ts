import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../kit/patience.ts'
import { type Bytes, cutAt, toBuffer } from './bytes.ts'
import { type Cut, RawResponse } from './raw-response.ts'

/** An HTTP/1.1 client on a raw socket: it sends exactly what it is told and shows exactly what arrives. */
export class RawClient {
  /** Resolves when the connection has ended: FIN or RST from the server, or our own doing. */
  readonly closed: Promise<Cut>
  readonly #socket: Socket
  readonly #pieces: Buffer[] = []
  readonly #responses: RawResponse[] = []
  readonly #resolveClosed: (how: Cut) => void
  #early: { bytes: Buffer; at: number }[] = []
  #ended: Cut | undefined

  /** Takes over a connected socket; see `rawClient`. */
  constructor(socket: Socket) {
    this.#socket = socket
    const { promise, resolve } = Promise.withResolvers<Cut>()
    this.closed = promise
    this.#resolveClosed = resolve
    socket.setNoDelay(true)
    socket.on('data', bytes => this.#read(bytes))
    socket.on('end', () => {
      this.#close('fin')
      socket.end()
    })
    socket.on('error', () => this.#close('reset'))
    socket.on('close', () => this.#close('self'))
  }

  /** Everything that has arrived on this connection. */
  get received(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  /** What has arrived beyond the responses that were asked for. */
  get unread(): Buffer {
    return Buffer.concat(this.#early.map(({ bytes }) => bytes))
  }

  /** Sends these bytes as they stand. Resolves once the system has taken them; rejects when the connection is gone. */
  send(...bytes: Bytes[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.write(Buffer.concat(bytes.map(toBuffer)), error => (error ? reject(error) : resolve()))
    })
  }

  /** Sends `bytes` cut at the offsets, with a pause between the pieces so that they arrive apart. */
  async sendPieces(bytes: Bytes, offsets: readonly number[], pauseMs = 20): Promise<void> {
    for (const [i, piece] of cutAt(bytes, offsets).entries()) {
      if (i > 0) await sleep(pauseMs)
      await this.send(piece)
    }
  }

  /** The next response on this connection, as it arrives. `method`: that of its request; absent means POST. */
  next(method = 'POST'): RawResponse {
    const response = new RawResponse(method)
    this.#responses.push(response)
    const early = this.#early
    this.#early = []
    for (const { bytes, at } of early) this.#deliver(bytes, at)
    if (this.#ended) response.eof(this.#ended)
    return response
  }

  /** The next response on this connection, once it has ended. Rejects after `timeoutMs`. */
  response({ method, timeoutMs = 10_000 }: { method?: string; timeoutMs?: number } = {}): Promise<RawResponse> {
    return within(this.next(method).done, timeoutMs, 'the end of a response')
  }

  /** Cuts the connection with RST. */
  abort(): void {
    this.#close('self')
    this.#socket.resetAndDestroy()
  }

  /** Ends our side (FIN); what the server still sends is read. */
  end(): void {
    this.#socket.end()
  }

  /** Closes the connection, both sides. */
  close(): void {
    this.#close('self')
    this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.#deliver(bytes, performance.now())
  }

  #deliver(bytes: Buffer, at: number): void {
    let rest = bytes
    while (rest.length > 0) {
      const current = this.#responses.find(response => !response.ending)
      // Bytes that nobody has asked for yet wait for the next response.
      if (!current) {
        this.#early.push({ bytes: rest, at })
        return
      }
      try {
        rest = current.push(rest, at)
      } catch (error) {
        current.fail(new Error(`the server sent what is no HTTP/1.1: ${(error as Error).message}`))
        this.#socket.destroy()
        return
      }
    }
  }

  #close(how: Cut): void {
    if (this.#ended) return
    this.#ended = how
    for (const response of this.#responses) response.eof(how)
    this.#resolveClosed(how)
  }
}

/** Connects to the host and port of `url`. Rejects with the system's error. Whoever connects closes. */
export async function rawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), allowHalfOpen: true })
  await once(socket, 'connect')
  return new RawClient(socket)
}

/** Sends one request on a connection of its own and returns the response once it has ended. */
export async function rawRequest(
  url: string,
  bytes: Bytes,
  options: { method?: string; timeoutMs?: number } = {},
): Promise<RawResponse> {
  const client = await rawClient(url)
  try {
    const response = client.response(options)
    // A server may answer and cut the connection before it has read everything: the answer counts.
    await Promise.race([client.send(bytes).catch(() => {}), response])
    return await response
  } finally {
    client.close()
  }
}
