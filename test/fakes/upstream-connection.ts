import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { BodyReader, type Framing } from './body-reader.ts'
import { contentLength, type Head, headEnd, isChunked, parseHead } from './http-head.ts'
import { flatten, type Script, type Step } from './steps.ts'
import { UpstreamRequest } from './upstream-request.ts'

export interface Closing {
  /** `fin`: the other side ended it. `reset`: the other side cut it. `script`: we did, and the other side had not. */
  how: 'fin' | 'reset' | 'script'
  /** `performance.now()` then. */
  at: number
}

/** What a connection asks its upstream for. */
export interface Scripts {
  /** Records the request and says what is to be done for it; a function is asked once the body is complete. */
  take(request: UpstreamRequest): Script | (() => Script | Promise<Script>)
  fault(error: Error): void
}

/** One accepted connection. Requests that arrive on it are answered in order, one script after the other. */
export class UpstreamConnection {
  /** Number over the whole upstream, from 0. */
  readonly id: number
  readonly openedAt = performance.now()
  /** Requests that have arrived on it, in order. */
  readonly requests: UpstreamRequest[] = []
  /** Resolves when the other side ends or cuts the connection, or a script has cut it. */
  readonly closed: Promise<Closing>
  readonly #socket: Socket
  readonly #scripts: Scripts
  readonly #halfOpen: boolean
  readonly #over = new AbortController()
  readonly #resolveClosed: (closing: Closing) => void
  #pending = Buffer.alloc(0)
  #current: { request: UpstreamRequest; body: BodyReader } | undefined
  #turn: Promise<void> = Promise.resolve()

  constructor(id: number, socket: Socket, scripts: Scripts, halfOpen: boolean) {
    this.id = id
    this.#socket = socket
    this.#scripts = scripts
    this.#halfOpen = halfOpen
    const { promise, resolve } = Promise.withResolvers<Closing>()
    this.closed = promise
    this.#resolveClosed = resolve
    // Without it the system would join small writes that a script means to arrive apart.
    socket.setNoDelay(true)
    socket.on('data', bytes => this.#read(bytes))
    socket.on('end', () => this.#peerEnded())
    socket.on('error', () => this.#close('reset'))
    socket.on('close', () => this.#close('script'))
  }

  /** True until the connection is closed from either side. */
  get isOpen(): boolean {
    return !this.#over.signal.aborted
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #peerEnded(): void {
    if (this.#halfOpen) {
      this.#resolveClosed({ how: 'fin', at: performance.now() })
      return
    }
    this.#close('fin')
    this.#socket.end()
  }

  #close(how: Closing['how']): void {
    this.#resolveClosed({ how, at: performance.now() })
    this.#over.abort()
    this.#current?.request.abandon()
  }

  #read(bytes: Buffer): void {
    try {
      this.#pending = Buffer.concat([this.#pending, bytes])
      while (this.#pending.length > 0 && this.#step());
    } catch (error) {
      this.#scripts.fault(new Error(`connection ${this.id} sent what is no HTTP/1.1: ${(error as Error).message}`))
      this.#socket.destroy()
    }
  }

  /** Reads one head or one piece of a body from what is pending; false when more bytes are needed. */
  #step(): boolean {
    if (this.#current) {
      this.#readBody(this.#current.request, this.#current.body)
      return true
    }
    const end = headEnd(this.#pending)
    if (end < 0) return false
    const raw = Buffer.from(this.#pending.subarray(0, end))
    this.#pending = this.#pending.subarray(end)
    const head = parseHead(raw)
    const request = new UpstreamRequest(this, raw, head)
    const body = new BodyReader(framingOf(head))
    this.requests.push(request)
    const script = this.#scripts.take(request)
    this.#turn = this.#turn.then(() => this.#run(request, script))
    this.#current = { request, body }
    this.#readBody(request, body)
    return true
  }

  #readBody(request: UpstreamRequest, body: BodyReader): void {
    if (!body.done) this.#pending = Buffer.from(body.push(this.#pending))
    request.bodyPieces = body.content
    request.rawBodyPieces = body.raw
    if (!body.done) return
    this.#current = undefined
    request.finish()
  }

  async #run(request: UpstreamRequest, script: Script | (() => Script | Promise<Script>)): Promise<void> {
    try {
      const steps = flatten(typeof script === 'function' ? await script() : script)
      if (steps[0]?.do !== 'early' && !(await request.complete)) return
      for (const step of steps) {
        if (!this.isOpen) return
        await this.#do(step, request)
      }
    } catch (error) {
      if (this.isOpen) this.#scripts.fault(new Error(`script of request ${request.index} failed`, { cause: error }))
    } finally {
      request.end()
    }
  }

  async #do(step: Step, request: UpstreamRequest): Promise<void> {
    switch (step.do) {
      case 'early':
        return
      case 'body':
        await request.complete
        return
      case 'write':
        return this.#write(step.bytes)
      case 'pause':
        await sleep(step.ms, undefined, { signal: this.#over.signal })
        return
      case 'wait':
        await Promise.race([step.gate.opened, this.#aborted()])
        return
      case 'stall':
        return this.#aborted()
      case 'fin':
        this.#socket.end()
        return
      case 'reset':
        this.#close('script')
        this.#socket.resetAndDestroy()
        return
    }
  }

  #write(bytes: Buffer): Promise<void> {
    return new Promise(resolve => {
      this.#socket.write(bytes, error => {
        // The other side is gone, which is its right; the socket's own error event comes only after this.
        if (error) this.#close('reset')
        resolve()
      })
    })
  }

  #aborted(): Promise<void> {
    const { signal } = this.#over
    if (signal.aborted) return Promise.resolve()
    return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
  }
}

function framingOf({ headers }: Head): Framing {
  const length = contentLength(headers)
  if (!isChunked(headers)) return { by: 'length', length: length ?? 0 }
  // RFC 9112 §6.2: a sender must not send both; a server that read the other one would be open to smuggling.
  if (length !== undefined) throw new Error('both content-length and transfer-encoding')
  return { by: 'chunked' }
}
