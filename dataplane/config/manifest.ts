import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { z } from 'zod'
import { SNAPSHOT_SCHEMA, type Snapshot, snapshotSchema } from './snapshot.ts'

/**
 * How a snapshot lies in the cluster: an index Secret and up to 64 shards, each with two slots, `a` and `b`. A change
 * is written to the idle slots first; then the index is flipped by compare-and-swap. So whichever manifest an index
 * names, current or previous, is complete, and a reader never sees half of a change.
 */

/** Objects are spread over so many shards by a stable hash; one edit rewrites one of them. */
export const SHARDS = 64

/** Key of the index inside its Secret, and of a shard inside its own. */
export const INDEX_KEY = 'index.json'
export const SHARD_KEY = 'shard.json.gz'

/** Largest shard that is unpacked (256 times the size that is aimed at): a defence, not a budget. */
const MAX_SHARD_BYTES = 32 * 1024 * 1024

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/)

const manifest = z.object({
  generation: z.number().int().min(1),
  /** The slots that hold the shards, such as `00a`; empty shards have none. */
  shards: z.array(z.object({ slot: z.string().regex(/^[0-5][0-9][ab]$|^6[0-3][ab]$/), sha256: sha256Hex })).max(SHARDS),
})

export const indexSchema = z.object({
  epoch: z.string().min(1),
  generation: z.number().int().min(1),
  schema: z.object({ major: z.number().int(), minor: z.number().int() }),
  current: manifest,
  previous: manifest.optional(),
})

export type Index = z.output<typeof indexSchema>
export type Manifest = z.output<typeof manifest>

/** The rendered objects of a snapshot, without epoch and generation. */
export type Content = Pick<Snapshot, (typeof LISTS)[number]>

const LISTS = ['backends', 'routes', 'tenants', 'policies'] as const

export function emptyContent(): Content {
  return { backends: [], routes: [], tenants: [], policies: [] }
}

/** Name of the index Secret of a fleet, and of the Secret of one slot. */
export function indexName(gateway: string): string {
  return `${gateway}-config`
}

export function slotName(gateway: string, slot: string): string {
  return `${indexName(gateway)}-${slot}`
}

/** Every Secret name that a gateway of the fleet may ever read: the index and all slots. */
export function configSecretNames(gateway: string): string[] {
  const slots = Array.from({ length: SHARDS }, (_, shard) => [slotOf(shard, 'a'), slotOf(shard, 'b')]).flat()
  return [indexName(gateway), ...slots.map(slot => slotName(gateway, slot))]
}

export function slotOf(shard: number, side: 'a' | 'b'): string {
  return String(shard).padStart(2, '0') + side
}

/** A shard as it is stored: gzip of canonical JSON, with the hash of those bytes. */
export interface PackedShard {
  shard: number
  bytes: Buffer
  sha256: string
}

/** Spreads objects over shards and packs the ones that are not empty. Same content, same bytes. */
export function packShards(content: Content): PackedShard[] {
  const shards = new Map<number, Content>()
  for (const list of LISTS) {
    for (const object of content[list]) {
      const shard = shardOf(list, object.namespace, object.name)
      if (!shards.has(shard)) shards.set(shard, emptyContent())
      ;(shards.get(shard)![list] as unknown[]).push(object)
    }
  }
  return [...shards.entries()].sort(([a], [b]) => a - b).map(([shard, objects]) => pack(shard, objects))
}

/** @throws Error when the bytes are not what the manifest says, or are no shard */
export function unpackShard(bytes: Buffer, sha256: string): unknown {
  if (hashOf(bytes) !== sha256) throw new Error('the bytes of a shard do not match the manifest')
  return JSON.parse(gunzipSync(bytes, { maxOutputLength: MAX_SHARD_BYTES }).toString('utf8'))
}

/**
 * Puts a snapshot together from the shards of a manifest.
 *
 * @throws Error when a shard is malformed or was written by an incompatible major version
 */
export function assemble(
  index: Index,
  { generation, shards }: Manifest,
  unpacked: ReadonlyMap<string, unknown>,
): Snapshot {
  if (index.schema.major !== SNAPSHOT_SCHEMA.major) {
    throw new Error(`the configuration has schema ${index.schema.major}, this gateway reads ${SNAPSHOT_SCHEMA.major}`)
  }
  const merged: Record<string, unknown[]> = { ...emptyContent() }
  for (const { slot, sha256 } of shards) {
    const part = unpacked.get(sha256)
    if (!part) throw new Error(`the shard in slot ${slot} is absent`)
    for (const list of LISTS) merged[list]!.push(...((part as Record<string, unknown[]>)[list] ?? []))
  }
  return snapshotSchema.parse({ epoch: index.epoch, generation, schema: index.schema, ...merged })
}

function shardOf(list: string, namespace: string, name: string): number {
  return createHash('sha256').update(`${list}/${namespace}/${name}`).digest()[0]! % SHARDS
}

function pack(shard: number, content: Content): PackedShard {
  const bytes = gzipSync(canonicalJson(content))
  // Byte 9 of the header names the system that packed it (RFC 1952 §2.3.1); the same content must give the same hash.
  bytes[9] = 255
  return { shard, bytes, sha256: hashOf(bytes) }
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** JSON with sorted keys, so that equal values are equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
