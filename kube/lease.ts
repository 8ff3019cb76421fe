import { isAlreadyExists, isConflict, isNotFound } from './api-error.ts'
import type { KubeClient } from './http.ts'
import type { KubeObject } from './object.ts'
import type { Resource } from './resource.ts'

export interface LeaseSpec {
  /** Empty or absent: nobody's. */
  holderIdentity?: string
  /** How long the holder may be silent before others may take it. */
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

export interface Lease extends KubeObject {
  spec?: LeaseSpec
}

export const LEASES: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}

/** Time as a Lease or an Event wants it: RFC 3339 with six digits of a second. */
export function microTime(date: Date = new Date()): string {
  return date.toISOString().replace('Z', '000Z')
}

export interface LeaseClaimOptions {
  client: KubeClient
  namespace: string
  name: string
  /** Unique among all who ever claim it, over restarts too. */
  identity: string
  /** How long we may be silent before others may take it. Whole seconds. */
  durationSeconds: number
  /** Of each request, in milliseconds. */
  timeoutMs: number
  /** Make the Lease when there is none; without it the absence is an `ApiError`. */
  create: boolean
}

/**
 * Our claim on one Lease. Clocks are never compared: a holder counts as gone when *we* have seen its record unchanged
 * for the duration that it promised. Every write carries the resourceVersion, so of two claimants one gets a conflict.
 */
export class LeaseClaim {
  readonly #options: LeaseClaimOptions
  /** As last read or written; absent while unknown, as after a write whose outcome we did not hear. */
  #lease: Lease | undefined
  /** The record of the holder, and since when we see it. */
  #observed = { record: '', since: 0 }
  #heldSince: number | undefined

  constructor(options: LeaseClaimOptions) {
    this.#options = options
  }

  /** When the request was sent that last made or kept it ours, on the clock of `performance.now()`; absent: not ours. */
  get renewedAt(): number | undefined {
    return this.#heldSince
  }

  /** Who held it when we last looked; empty: nobody. */
  get holder(): string {
    return this.#lease?.spec?.holderIdentity ?? ''
  }

  /** Takes it when it is free or its holder is gone. Throws when the server cannot be asked. */
  async acquire(): Promise<boolean> {
    const { client, namespace, name, identity, timeoutMs, create } = this.#options
    let lease: Lease
    try {
      lease = await client.get(LEASES, { namespace, name }, { timeoutMs })
    } catch (error) {
      if (create && isNotFound(error)) return this.#create()
      throw error
    }
    this.#observe(lease)
    if (this.holder !== '' && this.holder !== identity && !this.#hasExpired(lease)) return false
    return this.#replace(this.#takenOver(lease))
  }

  /**
   * Keeps what is ours. False: someone else has written the Lease, so it must count as lost. Throws when the outcome is
   * unknown; the next call then looks first.
   */
  async renew(): Promise<boolean> {
    const { client, namespace, name, identity, timeoutMs } = this.#options
    if (this.#heldSince === undefined) throw new Error(`the lease ${name} is not held`)
    try {
      this.#lease ??= await client.get(LEASES, { namespace, name }, { timeoutMs })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    const lease = this.#lease
    if (lease?.spec?.holderIdentity !== identity) {
      this.#heldSince = undefined
      return false
    }
    return this.#replace({ ...lease, spec: { ...lease.spec, ...this.#duration(), renewTime: microTime() } })
  }

  /** Gives it back, so that others need not wait for its expiry. Does nothing when it is not ours. */
  async release(): Promise<void> {
    const { client, namespace, name, identity, timeoutMs } = this.#options
    if (this.#heldSince === undefined) return
    this.#heldSince = undefined
    const lease = this.#lease ?? (await client.get(LEASES, { namespace, name }, { timeoutMs }))
    if (lease.spec?.holderIdentity !== identity) return
    // The API server takes no duration of 0.
    const free = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() }
    await this.#replace({ ...lease, spec: { ...lease.spec, ...free } })
    this.#heldSince = undefined
  }

  async #create(): Promise<boolean> {
    const { namespace, name, identity } = this.#options
    const now = microTime()
    const spec = {
      holderIdentity: identity,
      ...this.#duration(),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name }, spec }
    return this.#write(timeoutMs => this.#options.client.create(LEASES, lease, { timeoutMs }))
  }

  #replace(lease: Lease): Promise<boolean> {
    return this.#write(timeoutMs => this.#options.client.replace(LEASES, lease, { timeoutMs }))
  }

  /** False when someone else was faster. */
  async #write(send: (timeoutMs: number) => Promise<Lease>): Promise<boolean> {
    const sentAt = performance.now()
    // Until we hear otherwise we do not know what the server has.
    this.#lease = undefined
    try {
      this.#lease = await send(this.#options.timeoutMs)
      this.#heldSince = sentAt
      return true
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error
      this.#heldSince = undefined
      return false
    }
  }

  #takenOver(lease: Lease): Lease {
    const now = microTime()
    const { leaseTransitions = 0 } = lease.spec ?? {}
    const spec = {
      ...lease.spec,
      ...this.#duration(),
      holderIdentity: this.#options.identity,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: this.holder === this.#options.identity ? leaseTransitions : leaseTransitions + 1,
    }
    return { ...lease, spec }
  }

  #duration(): LeaseSpec {
    return { leaseDurationSeconds: this.#options.durationSeconds }
  }

  #observe(lease: Lease): void {
    this.#lease = lease
    const { holderIdentity, renewTime, acquireTime, leaseTransitions } = lease.spec ?? {}
    const record = JSON.stringify([holderIdentity, renewTime, acquireTime, leaseTransitions])
    if (record !== this.#observed.record) this.#observed = { record, since: performance.now() }
  }

  /** By the duration that the holder itself wrote: it may have been started with another than ours. */
  #hasExpired({ spec }: Lease): boolean {
    const { leaseDurationSeconds = this.#options.durationSeconds } = spec ?? {}
    return performance.now() - this.#observed.since >= leaseDurationSeconds * 1000
  }
}
