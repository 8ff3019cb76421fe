import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Content,
  emptyContent,
  INDEX_KEY,
  indexName,
  indexSchema,
  slotName,
} from '../../dataplane/config/manifest.ts'
import type { TenantConfig } from '../../dataplane/config/snapshot.ts'
import { Publisher } from './publisher.ts'
import { Conflict, type SecretStore, type StoredSecret } from './secret-store.ts'

/** Secrets with the API server's rules of compare-and-swap. `turn` is awaited before each access takes effect. */
class MemoryStore implements SecretStore {
  readonly secrets = new Map<string, StoredSecret>()
  writes = 0
  #version = 0
  readonly #turn: () => Promise<void>

  constructor(turn: () => Promise<void> = async () => {}) {
    this.#turn = turn
  }

  async get(name: string) {
    await this.#turn()
    return this.secrets.get(name) ?? null
  }

  async create(name: string, data: Record<string, Buffer>) {
    await this.#turn()
    if (this.secrets.has(name)) throw new Conflict('exists')
    return this.#put(name, data)
  }

  async replace(name: string, data: Record<string, Buffer>, resourceVersion: string) {
    await this.#turn()
    if (this.secrets.get(name)?.resourceVersion !== resourceVersion) throw new Conflict('changed')
    return this.#put(name, data)
  }

  #put(name: string, data: Record<string, Buffer>) {
    this.writes++
    const secret = { resourceVersion: String(++this.#version), data }
    this.secrets.set(name, secret)
    return secret
  }
}

const tenant = (name: string, generation = 1): TenantConfig => ({
  uid: `uid-${name}`,
  namespace: 'apps',
  name,
  generation,
  requires: [],
  keys: [],
  anonymous: false,
  allNamespaces: false,
})

const content = (...tenants: TenantConfig[]): Content => ({ ...emptyContent(), tenants })
const sorted = (tenants: TenantConfig[]) => tenants.toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** What any reader of the store would get now. */
async function read(store: MemoryStore) {
  const still = new MemoryStore()
  for (const [name, secret] of store.secrets) still.secrets.set(name, secret)
  return new Publisher(still, 'weir').load()
}

describe('publishing', () => {
  test('an empty content is published, and read back by another writer', async () => {
    const store = new MemoryStore()
    const publisher = new Publisher(store, 'weir')
    expect(await publisher.load()).toBeNull()
    const { epoch, generation } = await publisher.publish(emptyContent())
    expect(generation).toBe(1)
    expect(await read(store)).toMatchObject({ epoch, generation: 1, ...emptyContent() })
  })

  test('one edit writes one shard and the index; unchanged content writes no shard', async () => {
    const store = new MemoryStore()
    const publisher = new Publisher(store, 'weir')
    await publisher.load()
    const many = Array.from({ length: 200 }, (_, i) => tenant(`t${i}`))
    await publisher.publish(content(...many))
    expect((await publisher.publish(content(...many))).written).toBe(0)
    many[7] = tenant('t7', 2)
    const before = store.writes
    expect(await publisher.publish(content(...many))).toMatchObject({ generation: 3, written: 1 })
    expect(store.writes - before).toBe(3)
    expect(sorted((await read(store))!.tenants)).toEqual(sorted(many))
  })

  test('the generation goes on over a restart; a lost index begins a new epoch', async () => {
    const store = new MemoryStore()
    const first = new Publisher(store, 'weir')
    await first.load()
    const { epoch } = await first.publish(content(tenant('a')))
    const second = new Publisher(store, 'weir')
    await second.load()
    expect(await second.publish(content(tenant('a', 2)))).toMatchObject({ epoch, generation: 2 })
    store.secrets.delete('weir-config')
    await expect(second.publish(content(tenant('a', 3)))).rejects.toThrow(Conflict)
    expect(await second.load()).toBeNull()
    const reborn = await second.publish(content(tenant('a', 3)))
    expect(reborn.generation).toBe(1)
    expect(reborn.epoch).not.toBe(epoch)
    expect((await read(store))!.tenants[0]!.generation).toBe(3)
  })

  test('a writer that dies between shards and index leaves the last manifest whole', async () => {
    for (let steps = 0; steps < 6; steps++) {
      let left = Number.POSITIVE_INFINITY
      const store = new MemoryStore(async () => {
        if (left-- <= 0) throw new Error('killed')
      })
      const publisher = new Publisher(store, 'weir')
      await publisher.load()
      await publisher.publish(content(tenant('a')))
      await publisher.publish(content(tenant('a', 2)))
      left = steps
      await publisher.publish(content(tenant('a', 3))).catch(() => {})
      expect([2, 3]).toContain((await read(store))!.tenants[0]!.generation)
    }
  })

  test('a torn current manifest falls back to the previous one, and counting goes on past both', async () => {
    const store = new MemoryStore()
    const publisher = new Publisher(store, 'weir')
    await publisher.load()
    await publisher.publish(content(tenant('a')))
    await publisher.publish(content(tenant('a', 2)))
    const index = indexSchema.parse(JSON.parse(store.secrets.get(indexName('weir'))!.data[INDEX_KEY]!.toString()))
    store.secrets.delete(slotName('weir', index.current.shards[0]!.slot))
    const next = new Publisher(store, 'weir')
    expect((await next.load())!.tenants[0]!.generation).toBe(1)
    expect(await next.publish(content(tenant('a', 3)))).toMatchObject({ generation: 3 })
    expect((await read(store))!.tenants[0]!.generation).toBe(3)
  })
})

describe('two writers', () => {
  test('however their steps interleave, what the index names is whole and was meant by one of them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.constantFrom('x', 'y'), { minLength: 2, maxLength: 8 }),
        async (s, who) => {
          const store = new MemoryStore(() => s.schedule(Promise.resolve()))
          const meant = new Map<number, string>()
          const seen: number[] = []
          let edit = 0
          const writer = async (name: string, times: number) => {
            const publisher = new Publisher(store, 'weir')
            await publisher.load()
            for (let done = 0; done < times; ) {
              const id = `${name}-${++edit}`
              try {
                // Two objects, so that shards of both writers can mix.
                const { generation } = await publisher.publish(
                  content(tenant(`a`, edit), tenant(`b`, edit), tenant(id)),
                )
                expect(meant.get(generation), 'a generation is announced once').toBeUndefined()
                meant.set(generation, id)
                seen.push(generation)
                done++
              } catch (error) {
                if (!(error instanceof Conflict)) throw error
                await publisher.load()
              }
              const now = await read(store)
              if (!now) continue
              const [a, b] = sorted(now.tenants.filter(({ name }) => name.length === 1))
              expect(a!.generation, 'shards of one writer').toBe(b!.generation)
            }
          }
          const writers = ['x', 'y'].map(name => writer(name, who.filter(each => each === name).length))
          await s.waitFor(Promise.all(writers))
          expect(seen).toEqual([...seen].sort((a, b) => a - b))
          expect((await read(store))!.generation).toBe(who.length)
        },
      ),
      { numRuns: 150 },
    )
  })
})
