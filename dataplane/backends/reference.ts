import { monotonicMs } from '../clock.ts'

/**
 * A claim on a backend and one of its upstream models, from the moment a request is queued for it until its response
 * has ended, failed or been abandoned. A backend closes only when the last one is released. `expire` is called when a
 * drain's deadline passes; the holder must then end and release.
 */
export interface Reference {
  readonly model: string
  readonly since: number
  expire(): void
}

/** The references of one backend. */
export class References {
  #held = new Set<Reference>()
  #byModel = new Map<string, number>()

  get size(): number {
    return this.#held.size
  }

  add(model: string, expire: () => void): Reference {
    const reference = { model, since: monotonicMs(), expire }
    this.#held.add(reference)
    this.#byModel.set(model, (this.#byModel.get(model) ?? 0) + 1)
    return reference
  }

  /** Releases a reference; doing so twice is harmless. */
  release(reference: Reference): void {
    if (!this.#held.delete(reference)) return
    const left = this.#byModel.get(reference.model)! - 1
    if (left === 0) this.#byModel.delete(reference.model)
    else this.#byModel.set(reference.model, left)
  }

  /** References by upstream model. */
  byModel(): Record<string, number> {
    return Object.fromEntries(this.#byModel)
  }

  /** Age of the oldest reference in seconds; 0 where there is none. */
  oldestSeconds(): number {
    // A Set keeps the order of insertion, so the first one is the oldest.
    const first = this.#held.values().next()
    return first.done ? 0 : Math.round((monotonicMs() - first.value.since) / 1000)
  }

  expireAll(): void {
    for (const reference of [...this.#held]) reference.expire()
  }
}
