/** So many a second, and a burst of so many at once. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #at = performance.now()

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
  }

  /** Takes one if there is one. */
  take(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Takes one in any case, and returns how long to wait for it, in milliseconds. */
  reserve(): number {
    this.#refill()
    this.#tokens--
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#perSecond) * 1000
  }

  #refill(): void {
    const now = performance.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
  }
}
