import type { Exchange } from '../pipeline/exchange.ts'

/** Bytes that may wait to be written; beyond it lines are dropped and counted, so that a slow reader costs no memory. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024

/** How long lines wait for company before they are written. */
const FLUSH_MS = 50

/** Writes a batch of whole lines; returns false when the writer is full, and calls `drained` once it is not. */
export type LogWriter = (lines: string, drained: () => void) => boolean

/** One JSON line a request, batched off the request path. No content, no secrets. */
export class AccessLog {
  dropped = 0
  #lines: string[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #blocked = false
  readonly #write: LogWriter

  constructor(write: LogWriter) {
    this.#write = write
  }

  add(exchange: Exchange, status: number): void {
    if (this.#bytes > MAX_BUFFERED_BYTES) {
      this.dropped++
      return
    }
    const line = `${JSON.stringify(entry(exchange, status))}\n`
    this.#lines.push(line)
    this.#bytes += line.length
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS)
  }

  /** Writes what is waiting, unless the writer is still full. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#blocked || this.#lines.length === 0) return
    const lines = this.#lines.join('')
    this.#lines = []
    this.#bytes = 0
    this.#blocked = !this.#write(lines, () => {
      this.#blocked = false
      this.flush()
    })
  }
}

/** The default writer: the process's standard output. */
export const toStdout: LogWriter = (lines, drained) => {
  if (process.stdout.write(lines)) return true
  process.stdout.once('drain', drained)
  return false
}

function entry(exchange: Exchange, status: number) {
  return {
    time: new Date().toISOString(),
    level: exchange.outcome === 'Served' ? 'info' : 'warn',
    requestId: exchange.requestId,
    tenant: exchange.tenant?.id ?? null,
    route: exchange.route?.id ?? null,
    backend: exchange.backendId || null,
    model: exchange.model || null,
    dialect: exchange.operation.dialect.name,
    status,
    code: exchange.code || null,
    attempts: exchange.attempts,
    queueMs: round(exchange.queuedMs),
    firstTokenMs: exchange.firstTokenMs === null ? null : round(exchange.firstTokenMs),
    totalMs: round(exchange.elapsedMs),
    tokensIn: exchange.usage?.input ?? null,
    tokensOut: exchange.usage?.output ?? null,
    outcome: exchange.outcome,
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
