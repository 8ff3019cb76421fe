import { pause } from './cancellation.ts'
import type { KubeClient } from './http.ts'
import { LeaseClaim } from './lease.ts'

export interface LeaderElectionOptions {
  client: KubeClient
  namespace: string
  /** Of the Lease. */
  name: string
  /** Unique to this process, restarts included: the pod's name and a random part. */
  identity: string
  /** Others may take over after so long without a renewal. Whole seconds. Default 15. */
  leaseSeconds?: number
  /** We stop leading after so long without a renewal: less than `leaseSeconds`. Default 10. */
  renewSeconds?: number
  /** Between renewals, and between tries to acquire. Default 2. */
  retrySeconds?: number
  onLeading: () => void
  /** Called once, when we led and no longer do without having been stopped. Stop writing at once; best exit. */
  onLost: (why: string) => void
  /** Every failed request. */
  report?: (error: unknown) => void
}

/**
 * Campaigns for a Lease until it is held, then keeps it, until it is lost or `stop` is called. There is no second
 * campaign: a process that lost does not know what its late writes did, so it should exit and begin anew.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions
  readonly #claim: LeaseClaim
  readonly #renewMs: number
  readonly #retryMs: number
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #leading = false

  constructor(options: LeaderElectionOptions) {
    const { leaseSeconds = 15, renewSeconds = 10, retrySeconds = 2, client, namespace, name, identity } = options
    if (!Number.isInteger(leaseSeconds) || leaseSeconds < 1)
      throw new Error('leaseSeconds must be a whole number from 1 on')
    if (!(leaseSeconds > renewSeconds && renewSeconds > 1.2 * retrySeconds && retrySeconds > 0)) {
      throw new Error('leaseSeconds must be more than renewSeconds, and that more than 1.2 times retrySeconds')
    }
    this.#options = options
    this.#renewMs = renewSeconds * 1000
    this.#retryMs = retrySeconds * 1000
    // Two tries fit before the deadline, however slow the server is.
    const timeoutMs = this.#renewMs / 2
    this.#claim = new LeaseClaim({
      client,
      namespace,
      name,
      identity,
      durationSeconds: leaseSeconds,
      timeoutMs,
      create: true,
    })
  }

  /** Whether we may write at this moment. Looks at the clock too: a process that was frozen no longer leads. */
  get leading(): boolean {
    return this.#leading && this.#leftMs() > 0
  }

  /** Who held the Lease when we last looked; empty: nobody. */
  get holder(): string {
    return this.#claim.holder
  }

  /** Begins the campaign. Once. */
  start(): this {
    this.#running ??= this.#run()
    return this
  }

  /** Ends the campaign, or gives the Lease back. End what the leader does before. Never throws. */
  async stop(): Promise<void> {
    this.#leading = false
    this.#stopping.abort()
    await this.#running
    try {
      await this.#claim.release()
    } catch (error) {
      this.#report(error)
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && !(await this.#acquire())) {
      // Out of step with the others, who wait for the same moment.
      await pause(this.#retryMs * (1 + Math.random() * 0.2), signal)
    }
    if (signal.aborted) return
    this.#leading = true
    const deadline = new Deadline(() => this.#lose(`the lease was not renewed for ${this.#renewMs / 1000} s`))
    try {
      deadline.set(this.#leftMs())
      this.#options.onLeading()
      await this.#keep(deadline)
    } finally {
      deadline.clear()
    }
  }

  async #keep(deadline: Deadline): Promise<void> {
    const { signal } = this.#stopping
    while (this.#leading) {
      await pause(this.#retryMs, signal)
      if (!this.#leading) return
      try {
        if (!(await this.#claim.renew())) return this.#lose(`the lease is now ${this.holder || 'somebody else'}'s`)
        deadline.set(this.#leftMs())
      } catch (error) {
        this.#report(error)
      }
    }
  }

  async #acquire(): Promise<boolean> {
    try {
      return (await this.#claim.acquire()) && this.#leftMs() > 0
    } catch (error) {
      this.#report(error)
      return false
    }
  }

  /** Until we must not lead any more. Counted from when the renewal was sent, as others may have seen it then. */
  #leftMs(): number {
    return (this.#claim.renewedAt ?? Number.NEGATIVE_INFINITY) + this.#renewMs - performance.now()
  }

  #lose(why: string): void {
    if (!this.#leading) return
    this.#leading = false
    this.#options.onLost(why)
  }

  #report(error: unknown): void {
    this.#options.report?.(error)
  }
}

/** Does something when a moment passes that is put off again and again. */
class Deadline {
  readonly #passed: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(passed: () => void) {
    this.#passed = passed
  }

  set(ms: number): void {
    this.clear()
    this.#timer = setTimeout(this.#passed, ms)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
