import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { Agent, request as requestTls } from 'node:https'
import type { AddressInfo } from 'node:net'

/** What the front says itself instead of asking the API server. */
export interface FrontAnswer {
  status: number
  headers?: Record<string, string>
  /** Each is a line of JSON: the events of a watch, or the one object of a plain answer. */
  lines?: object[]
  /** The answer stays open after its lines. */
  open?: boolean
}

interface Rule {
  /** Of `METHOD /path?query`. */
  match: RegExp
  answer: FrontAnswer
  times: number
}

/** A `Status` object as the API server refuses with. */
export function refusal(code: number, reason: string, message = `scripted ${code}`): object {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message }
}

/**
 * Plain HTTP on loopback before a real API server: forwards everything, but answers what a test tells it to, and puts
 * events of the test's own into watches that run.
 */
export class ApiFront {
  /** What was asked, as `METHOD /path?query`. */
  readonly asked: string[] = []
  readonly #server: Server
  readonly #target: URL
  readonly #agent: Agent
  #rules: Rule[] = []
  readonly #watches = new Set<ServerResponse>()

  static async start(url: string, ca: Buffer): Promise<ApiFront> {
    const front = new ApiFront(url, ca)
    front.#server.listen(0, '127.0.0.1')
    await once(front.#server, 'listening')
    return front
  }

  private constructor(url: string, ca: Buffer) {
    this.#target = new URL(url)
    this.#agent = new Agent({ ca, keepAlive: true })
    this.#server = createServer((asked, answer) => this.#serve(asked, answer))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Watches that are forwarded at this moment. */
  get watches(): number {
    return this.#watches.size
  }

  /** The next `times` requests that match are answered so. */
  script(match: RegExp, answer: FrontAnswer, times = 1): void {
    this.#rules.push({ match, answer, times })
  }

  /** Forwards everything again. */
  forward(): void {
    this.#rules = []
  }

  /** Writes a line into each watch that runs, between two events of the server, and ends the watch if said so. */
  inject(line: object | string, { end = false } = {}): void {
    for (const watch of this.#watches) {
      watch.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
      if (end) this.#endWatch(watch)
    }
  }

  /** Ends each watch that runs, in good order. */
  endWatches(): void {
    for (const watch of this.#watches) this.#endWatch(watch)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
    this.#agent.destroy()
  }

  #endWatch(watch: ServerResponse): void {
    this.#watches.delete(watch)
    watch.end()
  }

  #serve(asked: IncomingMessage, answer: ServerResponse): void {
    const line = `${asked.method} ${asked.url}`
    this.asked.push(line)
    const rule = this.#rules.find(each => each.times > 0 && each.match.test(line))
    if (!rule) {
      this.#forward(asked, answer)
      return
    }
    rule.times--
    asked.resume()
    const { status, headers = {}, lines = [], open } = rule.answer
    answer.writeHead(status, { 'content-type': 'application/json', ...headers })
    for (const each of lines) answer.write(`${JSON.stringify(each)}\n`)
    if (open) answer.flushHeaders()
    else answer.end()
  }

  #forward(asked: IncomingMessage, answer: ServerResponse): void {
    const send = this.#target.protocol === 'https:' ? requestTls : request
    const { host, ...headers } = asked.headers
    const { hostname, port } = this.#target
    const target = send({
      hostname,
      port,
      method: asked.method,
      path: asked.url,
      headers,
      ...(send === requestTls && { agent: this.#agent }),
    })
    target.on('error', () => answer.destroy())
    answer.on('close', () => target.destroy())
    target.on('response', response => {
      answer.writeHead(response.statusCode!, response.headers)
      answer.flushHeaders()
      response.on('error', () => answer.destroy())
      if (/[?&]watch=true/.test(asked.url!) && response.statusCode === 200) this.#forwardLines(response, answer)
      else response.pipe(answer)
    })
    asked.pipe(target)
  }

  /** Whole lines only, so that what is injected stands between them. */
  #forwardLines(response: IncomingMessage, answer: ServerResponse): void {
    let rest = Buffer.alloc(0)
    this.#watches.add(answer)
    answer.on('close', () => this.#watches.delete(answer))
    response.on('data', (bytes: Buffer) => {
      const all = Buffer.concat([rest, bytes])
      const end = all.lastIndexOf(0x0a) + 1
      rest = all.subarray(end)
      if (end > 0 && !answer.writableEnded) answer.write(all.subarray(0, end))
    })
    response.on('end', () => this.#endWatch(answer))
  }
}
