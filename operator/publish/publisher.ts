import { randomUUID } from 'node:crypto'
import {
  assemble,
  type Content,
  INDEX_KEY,
  type Index,
  indexName,
  indexSchema,
  type Manifest,
  type PackedShard,
  packShards,
  SHARD_KEY,
  slotName,
  slotOf,
  unpackShard,
} from '../../dataplane/config/manifest.ts'
import { SNAPSHOT_SCHEMA, type Snapshot } from '../../dataplane/config/snapshot.ts'
import { Conflict, type SecretStore } from './secret-store.ts'

/** What a publish led to. */
export interface PublishResult {
  epoch: string
  generation: number
  /** Shards that were written; the others stay where they are. */
  written: number
}

/**
 * Writes snapshots into the cluster so that no reader and no second writer can ever make half of one count.
 *
 * Three steps: the index is claimed (a write that changes nothing but its resourceVersion), the idle slots are
 * written, the index is flipped. Every write is compare-and-swap. A second writer must claim the index first, which
 * makes the first one's flip fail; and it writes slots only after its claim, so that a slot write by the first one
 * either fails on the slot's resourceVersion or is seen to be outdated by looking at the index once more.
 */
export class Publisher {
  readonly #store: SecretStore
  readonly #gateway: string
  #index: Index | null = null
  #indexVersion = ''
  /** resourceVersion of each slot as this writer last saw it. */
  readonly #slotVersions = new Map<string, string>()

  constructor(store: SecretStore, gateway: string) {
    this.#store = store
    this.#gateway = gateway
  }

  /**
   * Reads what is in force, so that rendering can go on from it. Must be called before the first publish, and again
   * after a Conflict.
   *
   * @returns null where nothing usable was published yet; the next publish then begins a new epoch
   */
  async load(): Promise<Snapshot | null> {
    this.#slotVersions.clear()
    this.#index = null
    const secret = await this.#store.get(indexName(this.#gateway))
    this.#indexVersion = secret?.resourceVersion ?? ''
    const index = secret && parseIndex(secret.data[INDEX_KEY])
    if (!index) return null
    for (const manifest of [index.current, index.previous]) {
      const snapshot = manifest && (await this.#read(index, manifest))
      if (!snapshot) continue
      // Going on from the previous manifest still counts past everything that was ever announced.
      this.#index = { ...index, current: manifest, generation: index.generation }
      return snapshot
    }
    return null
  }

  /**
   * Publishes content as the next generation.
   *
   * @throws Conflict when another writer was there: load again, render again, publish again
   */
  async publish(content: Content): Promise<PublishResult> {
    const before = this.#index
    const packed = packShards(content)
    const plan = packed.map(shard => ({ shard, slot: slotFor(shard, before) }))
    await this.#claim(before)
    const changed = plan.filter(
      ({ shard }) => before?.current.shards.every(known => known.sha256 !== shard.sha256) ?? true,
    )
    await this.#writeSlots(changed)
    const generation = (before?.generation ?? 0) + 1
    const current = {
      generation,
      shards: plan.map(({ shard, slot }) => ({ slot, sha256: shard.sha256 })),
    }
    await this.#writeIndex({
      epoch: before?.epoch ?? randomUUID(),
      generation,
      schema: SNAPSHOT_SCHEMA,
      current,
      previous: before?.current,
    })
    return { epoch: this.#index!.epoch, generation, written: changed.length }
  }

  async #claim(before: Index | null): Promise<void> {
    const data = { [INDEX_KEY]: Buffer.from(before ? JSON.stringify(before) : ''), claim: Buffer.from(randomUUID()) }
    await this.#putIndex(data)
  }

  async #writeSlots(changed: { shard: PackedShard; slot: string }[]): Promise<void> {
    let looked = false
    for (const { slot } of changed) {
      if (this.#slotVersions.has(slot)) continue
      this.#slotVersions.set(slot, (await this.#store.get(slotName(this.#gateway, slot)))?.resourceVersion ?? '')
      looked = true
    }
    // Versions that were read just now may be those of a writer who came after our claim.
    if (looked) await this.#checkClaim()
    await Promise.all(changed.map(({ shard, slot }) => this.#writeSlot(slot, shard)))
  }

  async #checkClaim(): Promise<void> {
    const secret = await this.#store.get(indexName(this.#gateway))
    if (secret?.resourceVersion !== this.#indexVersion) throw new Conflict('another writer has claimed the index')
  }

  async #writeSlot(slot: string, { bytes }: PackedShard): Promise<void> {
    const name = slotName(this.#gateway, slot)
    const version = this.#slotVersions.get(slot)
    const data = { [SHARD_KEY]: bytes }
    const written = version ? await this.#store.replace(name, data, version) : await this.#store.create(name, data)
    this.#slotVersions.set(slot, written.resourceVersion)
  }

  async #writeIndex(index: Index): Promise<void> {
    await this.#putIndex({ [INDEX_KEY]: Buffer.from(JSON.stringify(index)) })
    this.#index = index
  }

  async #putIndex(data: Record<string, Buffer>): Promise<void> {
    const name = indexName(this.#gateway)
    const written = this.#indexVersion
      ? await this.#store.replace(name, data, this.#indexVersion)
      : await this.#store.create(name, data)
    this.#indexVersion = written.resourceVersion
  }

  async #read(index: Index, manifest: Manifest): Promise<Snapshot | null> {
    try {
      const unpacked = new Map<string, unknown>()
      for (const { slot, sha256 } of manifest.shards) {
        const secret = await this.#store.get(slotName(this.#gateway, slot))
        const bytes = secret?.data[SHARD_KEY]
        if (bytes) unpacked.set(sha256, unpackShard(bytes, sha256))
      }
      return assemble(index, manifest, unpacked)
    } catch {
      return null
    }
  }
}

/** The slot where a shard stays if it is unchanged, else the side that the manifest in force does not use. */
function slotFor({ shard, sha256 }: PackedShard, index: Index | null): string {
  const inForce = index?.current.shards.find(({ slot }) => Number(slot.slice(0, 2)) === shard)
  if (inForce?.sha256 === sha256) return inForce.slot
  return slotOf(shard, inForce?.slot.endsWith('a') ? 'b' : 'a')
}

function parseIndex(bytes: Buffer | undefined): Index | null {
  try {
    return indexSchema.parse(JSON.parse(bytes?.toString('utf8') ?? ''))
  } catch {
    return null
  }
}
