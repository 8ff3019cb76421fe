import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { ClusterAccess, Credentials } from './access.ts'
import { ConnectionError } from './api-error.ts'
import { Cancellation } from './cancellation.ts'

export interface TransportOptions {
  /** Connections for requests, shared by all; further requests wait. Default 8. */
  connections?: number
  /** Streams open at a time, a connection each; one more is an error. Default 256. */
  streams?: number
  /** Longest time for a connection to be made, TLS included, in milliseconds. Default 5000. */
  connectTimeoutMs?: number
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  path: string
  headers?: Record<string, string>
  body?: string
  /** From now to the last byte of the answer, or to the headers of a stream; in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | undefined
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export interface Stream {
  status: number
  headers: IncomingHttpHeaders
  body: Readable
  /** Ends the stream if it still runs, and lets go of the caller's signal. Must be called. */
  close(): void
}

/** Connections to one API server: a bounded pool for requests, and one apart for streams so that neither starves the other. */
export class Transport {
  readonly #access: ClusterAccess
  readonly #prefix: string
  readonly #requests: Pool
  readonly #streams: Pool
  readonly #maxStreams: number
  #openStreams = 0

  constructor(access: ClusterAccess, options: TransportOptions = {}) {
    const { connections = 8, streams = 256, connectTimeoutMs = 5000 } = options
    this.#access = access
    this.#prefix = access.server.pathname.replace(/\/$/, '')
    const shared: Pool.Options = {
      connect: connector(access, connectTimeoutMs),
      pipelining: 1,
      // Go's server keeps idle connections for 3 minutes.
      keepAliveTimeout: 30_000,
      // Each call has its own deadline, and a watch is silent for minutes.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    this.#requests = new Pool(access.server.origin, { ...shared, connections })
    this.#streams = new Pool(access.server.origin, { ...shared, connections: streams })
    this.#maxStreams = streams
  }

  /** Throws a `ConnectionError` when there is no answer, and the signal's reason when it aborts. */
  async call(call: Call): Promise<Answer> {
    const cancellation = this.#deadline(call)
    try {
      const { statusCode, headers, body } = await this.#send(this.#requests, call, cancellation.signal)
      return { status: statusCode, headers, body: await body.text() }
    } catch (error) {
      throw this.#failure(call, error, cancellation.signal)
    } finally {
      cancellation.dispose()
    }
  }

  /** As `call`, but returns once the headers are there. Errors of the body are those of undici. */
  async open(call: Call): Promise<Stream> {
    if (this.#openStreams >= this.#maxStreams) {
      throw new Error(
        `${this.#maxStreams} streams from the API server are open already; watch less, or raise the bound`,
      )
    }
    this.#openStreams++
    const cancellation = this.#deadline(call)
    const release = () => {
      this.#openStreams--
      cancellation.dispose()
    }
    try {
      const { statusCode, headers, body } = await this.#send(this.#streams, call, cancellation.signal)
      // A refusal has a short body, which the deadline covers; a stream may last.
      if (statusCode === 200) cancellation.clear()
      // Whoever reads the body sees its errors; a stream that is closed early must not throw into the void.
      body.on('error', () => {})
      let open = true
      const close = () => {
        if (!open) return
        open = false
        if (!body.readableEnded) body.destroy()
        release()
      }
      return { status: statusCode, headers, body, close }
    } catch (error) {
      release()
      throw this.#failure(call, error, cancellation.signal)
    }
  }

  /** Ends every connection, with the requests and streams on it. */
  async close(): Promise<void> {
    await Promise.all([this.#requests.destroy(), this.#streams.destroy()])
  }

  /** The error to throw for one that undici gave. */
  failure(what: string, error: unknown): Error {
    if (error instanceof ConnectionError) return error
    const { code, message } = describe(error)
    return new ConnectionError(code, `${what} at ${this.#access.server.origin}: ${message}`, { cause: error })
  }

  #failure(call: Call, error: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? signal.reason : this.failure(`${call.method} ${pathOnly(call.path)}`, error)
  }

  #deadline({ method, path, timeoutMs, signal }: Call): Cancellation {
    const cancellation = new Cancellation(signal)
    const what = `${method} ${pathOnly(path)} at ${this.#access.server.origin}`
    cancellation.after(timeoutMs, () => new ConnectionError('Timeout', `${what}: no answer within ${timeoutMs} ms`))
    return cancellation
  }

  /** Once more with new credentials when the server no longer knows the old ones. */
  async #send(pool: Pool, call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const sent = await this.#access.credentials()
    signal.throwIfAborted()
    const first = await this.#sendWith(pool, call, sent, signal)
    if (first.statusCode !== 401) return first
    this.#access.invalidate()
    const renewed = await this.#access.credentials()
    if (renewed.token === sent.token || signal.aborted) return first
    await first.body.dump()
    return this.#sendWith(pool, call, renewed, signal)
  }

  #sendWith(pool: Pool, call: Call, { token }: Credentials, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const headers = { ...call.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    const { method, path, body } = call
    return pool.request({ method, path: this.#prefix + path, headers, body: body ?? null, signal })
  }
}

/** Connects with the certificates of the moment, so that rotated ones are used from the next connection on. */
function connector(access: ClusterAccess, timeout: number): buildConnector.connector {
  return (options, callback) => {
    connectOptions(access, timeout).then(
      ({ servername, ...connect }) =>
        // HTTP/1.1: with HTTP/2 one stalled connection would hold up every watch and request at once.
        buildConnector({ ...connect, allowH2: false })(
          { ...options, servername: servername ?? options.servername },
          callback,
        ),
      (error: Error) => callback(error, null),
    )
  }
}

async function connectOptions(access: ClusterAccess, timeout: number) {
  const [{ cert, key }, { ca, serverName, insecure }] = await Promise.all([access.credentials(), access.trust()])
  return {
    timeout,
    keepAliveInitialDelay: 15_000,
    rejectUnauthorized: !insecure,
    maxCachedSessions: 0,
    ...(ca && { ca }),
    ...(cert && key && { cert, key }),
    servername: serverName,
  }
}

/** TLS codes that mean that the server's certificate is not the one that we were told to expect. */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER|ALTNAME|SELF_SIGNED/

function describe(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'Unknown', message: String(error) }
  // Happy Eyeballs: one error for each address that was tried.
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error
  const code = codeOf(error) ?? codeOf(inner) ?? 'Unknown'
  const message = (inner instanceof Error && inner.message) || error.message || code
  const advice = UNTRUSTED.test(code) ? '; check certificate-authority and tls-server-name in the kubeconfig' : ''
  return { code, message: message + advice }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function pathOnly(path: string): string {
  return path.split('?', 1)[0]!
}
