import { monotonicMs } from '../clock.ts'
import { type Listed, Roster } from '../roster.ts'

/** Model names that are kept at a count of zero, so that the usual few cost nothing each time they come and go. */
const MAX_IDLE_MODELS = 256

/**
 * A claim on a backend and one of its upstream models, from the moment a request is queued for it until its response
 * has ended, failed or been abandoned. A backend closes only when the last one is released. `expire` is called when a
 * drain's deadline passes; the holder must then end and release.
 */
export interface Reference extends Listed {
  readonly model: string
  readonly since: number
  expire(): void
}

/** The references of one backend. */
export class References {
  readonly #held = new Roster<Reference>()
  #byModel = new Map<string, number>()

  get size(): number {
    return this.#held.size
  }

  add(model: string, expire: () => void): Reference {
    const reference = { model, since: monotonicMs(), expire, rosterIndex: -1 }
    this.#held.add(reference)
    this.#byModel.set(model, (this.#byModel.get(model) ?? 0) + 1)
    return reference
  }

  /** Releases a reference; doing so twice is harmless. */
  release(reference: Reference): void {
    if (!this.#held.remove(reference)) return
    const left = this.#byModel.get(reference.model)! - 1
    if (left === 0 && this.#byModel.size > MAX_IDLE_MODELS) this.#byModel.delete(reference.model)
    else this.#byModel.set(reference.model, left)
  }

  /** References by upstream model. */
  byModel(): Record<string, number> {
    return Object.fromEntries([...this.#byModel].filter(([, count]) => count > 0))
  }

  /** Age of the oldest reference in seconds; 0 where there is none. */
  oldestSeconds(): number {
    const now = monotonicMs()
    const oldest = this.#held.all().reduce((since, reference) => Math.min(since, reference.since), now)
    return Math.round((now - oldest) / 1000)
  }

  expireAll(): void {
    for (const reference of this.#held.all()) reference.expire()
  }
}
