import type { Admission } from '../admission/admission.ts'
import { Fifo } from '../admission/fifo.ts'
import type { BackendConfig } from '../config/snapshot.ts'
import { type Reference, References } from './reference.ts'
import { Transport, transportKey } from './transport.ts'

export type BackendState = 'Serving' | 'Draining' | 'Closed'

export type Credential = BackendConfig['credentials'][number]

/** Share of a backend's live requests that may be retries of that same backend. */
const RETRY_BUDGET = 0.2

/** Retries that are always allowed, so that a quiet backend can be retried at all. */
const MIN_RETRIES = 3

/**
 * The live half of a ModelBackend, kept by UID over reloads: its connections, slots, queue and counts. Removed from the
 * configuration, it takes no new work, serves what holds a reference, and closes when the last one is released.
 */
export class Backend {
  config: BackendConfig
  state: BackendState = 'Serving'
  readonly admission: Admission
  readonly references = new References()
  #transport: Transport
  /** Those of earlier configurations whose last requests still run. */
  readonly #retired = new Set<Transport>()
  #retrying = 0
  #drainTimer: NodeJS.Timeout | undefined
  readonly #onClosed: (backend: Backend) => void

  constructor(config: BackendConfig, onClosed: (backend: Backend) => void) {
    this.config = config
    this.#onClosed = onClosed
    this.admission = new Fifo(config.concurrencyMax, config.queueDepth)
    this.#transport = new Transport(config)
    if (config.draining) this.drain(config.draining.deadline)
  }

  get id(): string {
    return `${this.config.namespace}/${this.config.name}`
  }

  get transport(): Transport {
    return this.#transport
  }

  /** Whether new requests may be sent here. */
  get available(): boolean {
    return this.state === 'Serving' && this.config.usable
  }

  /** Takes over an edited configuration. Requests under way keep what they started with. */
  update(config: BackendConfig): void {
    if (this.#transport.key !== transportKey(config)) {
      const before = this.#transport
      this.#transport = new Transport(config)
      // Before the old one closes the new one is in place; close lets running requests finish.
      this.#retired.add(before)
      void before.close().then(() => this.#retired.delete(before))
    }
    this.config = config
    this.admission.resize(config.concurrencyMax, config.queueDepth)
    if (config.draining) this.drain(config.draining.deadline)
    else this.#resume()
  }

  /** Takes no new work; what still runs at `deadline` (ms since the epoch) is ended. */
  drain(deadline: number): void {
    if (this.state === 'Closed') return
    this.state = 'Draining'
    clearTimeout(this.#drainTimer)
    // setTimeout takes 31 bits; a deadline further away than 24 days is as good as none.
    const delay = Math.min(Math.max(0, deadline - Date.now()), 0x7fffffff)
    this.#drainTimer = setTimeout(() => this.references.expireAll(), delay).unref()
    this.#closeIfUnused()
  }

  acquire(model: string, expire: () => void): Reference {
    return this.references.add(model, expire)
  }

  release(reference: Reference): void {
    this.references.release(reference)
    this.#closeIfUnused()
  }

  /** Asks for a retry of this same backend. Must be followed by `endRetry` when true. */
  startRetry(): boolean {
    if (this.#retrying >= Math.max(MIN_RETRIES, RETRY_BUDGET * this.references.size)) return false
    this.#retrying++
    return true
  }

  endRetry(): void {
    this.#retrying--
  }

  #resume(): void {
    clearTimeout(this.#drainTimer)
    // A closed one has no connections left; it is given new ones, as if it were new.
    if (this.state === 'Closed') this.#transport = new Transport(this.config)
    this.state = 'Serving'
  }

  #closeIfUnused(): void {
    if (this.state !== 'Draining' || this.references.size > 0) return
    this.state = 'Closed'
    clearTimeout(this.#drainTimer)
    for (const transport of [this.#transport, ...this.#retired]) transport.destroy()
    this.#onClosed(this)
  }
}
