import type { BackendConfig } from '../config/snapshot.ts'
import { Backend } from './backend.ts'

/** All live backends by UID: those of the configuration, and removed ones that still hold references. */
export class BackendRegistry {
  #live = new Map<string, Backend>()
  #configured: ReadonlySet<string> = new Set()

  /** The backends of a configuration by UID; missing ones are made, but nothing that lives is touched yet. */
  prepare(configs: readonly BackendConfig[]): Map<string, Backend> {
    const make = (config: BackendConfig) => new Backend(config, closed => this.#forget(closed))
    return new Map(configs.map(config => [config.uid, this.#live.get(config.uid) ?? make(config)]))
  }

  /** Puts a prepared configuration into force: updates its backends and drains those that are gone. */
  commit(prepared: ReadonlyMap<string, Backend>, configs: readonly BackendConfig[]): void {
    this.#configured = new Set(prepared.keys())
    for (const config of configs) {
      const backend = prepared.get(config.uid)!
      this.#live.set(config.uid, backend)
      backend.update(config)
    }
    for (const [uid, backend] of this.#live) {
      if (prepared.has(uid)) continue
      if (backend.state === 'Serving') backend.drain(Date.now() + backend.config.drainTimeoutMs)
      else if (backend.state === 'Closed') this.#live.delete(uid)
    }
  }

  all(): Iterable<Backend> {
    return this.#live.values()
  }

  /** Ends what still runs, at the end of a shutdown's grace period, and closes every connection. */
  closeAll(): void {
    for (const backend of this.#live.values()) {
      backend.references.expireAll()
      backend.drain(Date.now())
    }
  }

  #forget(backend: Backend): void {
    // A backend that is still configured (drained by annotation) stays to be seen as Closed and can be resumed.
    if (!this.#configured.has(backend.config.uid)) this.#live.delete(backend.config.uid)
  }
}
