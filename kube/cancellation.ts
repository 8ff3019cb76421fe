/**
 * A signal of its own that follows a caller's signal and an optional deadline. `AbortSignal.any` would do the same, but
 * keeps what it made reachable from a signal that lives as long as the process; `dispose` leaves nothing behind.
 */
export class Cancellation {
  readonly #controller = new AbortController()
  readonly #parent: AbortSignal | undefined
  readonly #onAbort = () => this.#controller.abort(this.#parent?.reason)
  #timer: NodeJS.Timeout | undefined

  constructor(parent?: AbortSignal) {
    this.#parent = parent
    if (parent?.aborted) this.#onAbort()
    else parent?.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Aborts with `reason()` after `ms`, unless called again or cleared before. */
  after(ms: number, reason: () => Error): void {
    this.clear()
    this.#timer = setTimeout(() => this.#controller.abort(reason()), ms)
  }

  /** Takes the deadline back. */
  clear(): void {
    clearTimeout(this.#timer)
  }

  /** Lets go of the caller's signal and of the deadline. */
  dispose(): void {
    this.clear()
    this.#parent?.removeEventListener('abort', this.#onAbort)
  }
}

/** Waits `ms`, or less when the signal aborts. Never throws. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}
