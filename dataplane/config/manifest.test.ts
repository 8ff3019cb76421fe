import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readConfigDir } from './dir-source.ts'
import {
  assemble,
  type Content,
  canonicalJson,
  configSecretNames,
  emptyContent,
  type Index,
  type Manifest,
  packShards,
  slotOf,
  unpackShard,
} from './manifest.ts'
import { SNAPSHOT_SCHEMA } from './snapshot.ts'

const tenants = (names: string[], generation = 1): Content => ({
  ...emptyContent(),
  tenants: names.map(name => ({
    uid: name,
    namespace: 'apps',
    name,
    generation,
    requires: [],
    keys: [],
    anonymous: false,
    allNamespaces: false,
  })),
})

const manifestOf = (content: Content, generation: number, side: 'a' | 'b'): Manifest => ({
  generation,
  shards: packShards(content).map(({ shard, sha256 }) => ({ slot: slotOf(shard, side), sha256 })),
})

const index = (current: Manifest, previous?: Manifest, major: number = SNAPSHOT_SCHEMA.major): Index => ({
  epoch: 'e',
  generation: current.generation,
  schema: { major, minor: 0 },
  current,
  previous,
})

const byName = (content: Content) => content.tenants.toSorted((a, b) => (a.name < b.name ? -1 : 1))

test('what was packed comes out again, and the same content gives the same bytes', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { maxLength: 40 }), names => {
      const content = tenants(names)
      const packed = packShards(content)
      expect(packShards(content).map(({ sha256 }) => sha256)).toEqual(packed.map(({ sha256 }) => sha256))
      const unpacked = new Map(packed.map(({ bytes, sha256 }) => [sha256, unpackShard(bytes, sha256)]))
      const manifest = manifestOf(content, 1, 'a')
      expect(byName(assemble(index(manifest), manifest, unpacked))).toEqual(byName(content))
    }),
  )
})

test('bytes that are not what the manifest says are refused, and so is another major version', () => {
  const [shard] = packShards(tenants(['a']))
  expect(() => unpackShard(Buffer.concat([shard!.bytes, Buffer.from('x')]), shard!.sha256)).toThrow('do not match')
  const manifest = manifestOf(tenants(['a']), 1, 'a')
  expect(() => assemble(index(manifest, undefined, 9), manifest, new Map())).toThrow('schema 9')
  expect(() => assemble(index(manifest), manifest, new Map())).toThrow('is absent')
})

test('the names that a gateway may read are the index and two slots a shard', () => {
  const names = configSecretNames('weir')
  expect(names).toHaveLength(129)
  expect(names.slice(0, 3)).toEqual(['weir-config', 'weir-config-00a', 'weir-config-00b'])
})

test('canonical JSON does not depend on the order of keys', () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}')
})

describe('a mounted copy', () => {
  const put = async (dir: string, slot: string, key: string, bytes: string | Buffer) => {
    await mkdir(join(dir, slot), { recursive: true })
    await writeFile(join(dir, slot, key), bytes)
  }

  test('is read; where the current manifest is torn, the previous one serves', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'weir-config-'))
    try {
      expect(await readConfigDir(dir)).toBeNull()
      const [before, now] = [tenants(['t'], 1), tenants(['t'], 2)]
      const [previous, current] = [manifestOf(before, 1, 'a'), manifestOf(now, 2, 'b')]
      await put(dir, 'index', 'index.json', JSON.stringify(index(current, previous)))
      await put(dir, previous.shards[0]!.slot, 'shard.json.gz', packShards(before)[0]!.bytes)
      expect(await readConfigDir(dir)).toMatchObject({ generation: 1, tenants: [{ generation: 1 }] })
      await put(dir, current.shards[0]!.slot, 'shard.json.gz', packShards(now)[0]!.bytes)
      expect(await readConfigDir(dir)).toMatchObject({ generation: 2, tenants: [{ generation: 2 }] })
    } finally {
      await rm(dir, { recursive: true })
    }
  })
})
