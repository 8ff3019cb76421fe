import type { BackendConfig } from '../config/snapshot.ts'
import { Backend } from './backend.ts'

/** All live backends by UID: those of the configuration, and removed ones that still hold references. */
export class BackendRegistry {
  #live = new Map<string, Backend>()
  #configured: ReadonlySet<string> = new Set()

  /** Makes the configured backends exist, updates them, and drains those that are gone. */
  apply(configs: readonly BackendConfig[]): Map<string, Backend> {
    const byUid = new Map<string, Backend>()
    for (const config of configs) {
      const backend = this.#live.get(config.uid)
      if (backend) backend.update(config)
      else this.#live.set(config.uid, new Backend(config, closed => this.#forget(closed)))
      byUid.set(config.uid, this.#live.get(config.uid)!)
    }
    this.#configured = new Set(byUid.keys())
    for (const [uid, backend] of this.#live) {
      if (byUid.has(uid)) continue
      if (backend.state === 'Serving') backend.drain(Date.now() + backend.config.drainTimeoutMs)
      else if (backend.state === 'Closed') this.#live.delete(uid)
    }
    return byUid
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
