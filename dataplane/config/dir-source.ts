import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assemble, INDEX_KEY, type Index, indexSchema, type Manifest, SHARD_KEY, unpackShard } from './manifest.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * The last good configuration from the Secrets that are mounted into the pod, for a start without the API server.
 * Layout: `DIR/index/index.json` and `DIR/00a/shard.json.gz`. The kubelet updates each Secret on its own time, so the
 * current manifest may be torn; then the previous one is complete.
 *
 * @returns null where nothing usable is mounted
 */
export async function readConfigDir(dir: string): Promise<Snapshot | null> {
  const index = await readIndex(dir)
  if (!index) return null
  for (const manifest of [index.current, index.previous]) {
    if (!manifest) continue
    try {
      return assemble(index, manifest, await readShards(dir, manifest))
    } catch {
      // Torn or incompatible: the other manifest may still be whole.
    }
  }
  return null
}

async function readIndex(dir: string): Promise<Index | null> {
  try {
    return indexSchema.parse(JSON.parse(await readFile(join(dir, 'index', INDEX_KEY), 'utf8')))
  } catch {
    return null
  }
}

async function readShards(dir: string, { shards }: Manifest): Promise<Map<string, unknown>> {
  const unpacked = new Map<string, unknown>()
  for (const { slot, sha256 } of shards) {
    unpacked.set(sha256, unpackShard(await readFile(join(dir, slot, SHARD_KEY)), sha256))
  }
  return unpacked
}
