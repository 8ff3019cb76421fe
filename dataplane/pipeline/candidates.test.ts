import { describe, expect, test } from 'vitest'
import { Backend } from '../backends/backend.ts'
import { compile } from '../config/compile.ts'
import type { BackendConfig, TargetConfig } from '../config/snapshot.ts'
import { anthropic } from '../dialects/anthropic.ts'
import { openai } from '../dialects/openai.ts'
import { backendOf, routeOf, seededRandom, snapshotOf, targetOf } from '../testdata/objects.ts'
import { Candidates, pickCredential } from './candidates.ts'

const NONE: ReadonlyMap<string, string> = new Map()

function candidates(
  targets: TargetConfig[],
  { backends = {}, pinned, dialect = openai, random = seededRandom(1), unsupported = NONE }: Options = {},
) {
  const live = targets
    .filter(target => target.uid !== undefined)
    .map(({ uid }) => [uid!, new Backend(backendOf(uid!, backends[uid!]), () => {})] as const)
  const { routes } = compile(snapshotOf({ routes: [routeOf('r', { targets })] }), new Map(live))
  return new Candidates(routes[0]!, dialect, pinned, unsupported, random)
}

interface Options {
  backends?: Record<string, Partial<BackendConfig>>
  pinned?: string
  dialect?: typeof openai
  random?: () => number
  unsupported?: ReadonlyMap<string, string>
}

function order(made: Candidates): string[] {
  const names: string[] = []
  for (let next = made.next(); next; next = made.next()) names.push(next.backend.config.name)
  return names
}

const missing = (name: string, fields: Partial<TargetConfig> = {}) => ({ ...targetOf(name, fields), uid: undefined })

describe('the order of candidates', () => {
  test('by priority, each once', () => {
    expect(order(candidates([targetOf('c', { priority: 2 }), targetOf('a'), targetOf('b', { priority: 1 })]))).toEqual([
      'a',
      'b',
      'c',
    ])
  })

  test('by weight within a priority', () => {
    const random = seededRandom(7)
    const counts: Record<string, number> = { a: 0, b: 0 }
    for (let i = 0; i < 2000; i++) {
      const targets = [targetOf('a', { weight: 90 }), targetOf('b', { weight: 10 }), targetOf('never', { weight: 0 })]
      counts[order(candidates(targets, { random }))[0]!]!++
    }
    expect(counts.b! / 2000).toBeGreaterThan(0.07)
    expect(counts.b! / 2000).toBeLessThan(0.13)
  })

  test('a missing backend keeps its share: drawn first, only a lower priority may serve', () => {
    const random = seededRandom(3)
    const first: Record<string, number> = {}
    for (let i = 0; i < 1000; i++) {
      const name = order(
        candidates([missing('gone'), targetOf('a'), targetOf('spare', { priority: 1 })], { random }),
      )[0]!
      first[name] = (first[name] ?? 0) + 1
    }
    expect(first.spare! / 1000).toBeGreaterThan(0.4)
    expect(first.spare! / 1000).toBeLessThan(0.6)
    expect(order(candidates([missing('gone')]))).toEqual([])
  })

  test('as a substitute for a failed peer a missing one is passed over', () => {
    for (let seed = 0; seed < 50; seed++) {
      const names = order(candidates([targetOf('a'), missing('gone'), targetOf('b')], { random: seededRandom(seed) }))
      if (names[0] !== undefined) expect(names.toSorted()).toEqual(['a', 'b'])
    }
  })

  test('a draining backend leaves its share to its peers', () => {
    const draining = { draining: { deadline: Date.now() + 60_000 } }
    for (let seed = 0; seed < 20; seed++) {
      const made = candidates([targetOf('a'), targetOf('b')], { backends: { a: draining }, random: seededRandom(seed) })
      expect(order(made)).toEqual(['b'])
    }
  })

  test('a pin leaves one, by name or by namespace and name, also one of weight 0', () => {
    const targets = [targetOf('a'), targetOf('b', { weight: 0 })]
    expect(order(candidates(targets, { pinned: 'b' }))).toEqual(['b'])
    expect(order(candidates(targets, { pinned: 'default/a' }))).toEqual(['a'])
  })

  test('backends of another dialect, and those that need what the gateway lacks, take no part', () => {
    const mixed = [targetOf('a'), targetOf('b')]
    const backends = { b: { provider: 'Anthropic' as const } }
    expect(order(candidates(mixed, { backends }))).toEqual(['a'])
    expect(order(candidates(mixed, { backends, dialect: anthropic }))).toEqual(['b'])
    expect(candidates([targetOf('a')], { dialect: anthropic }).servesDialect).toBe(false)
    expect(order(candidates(mixed, { unsupported: new Map([['a', 'x']]) }))).toEqual(['b'])
  })
})

test('credentials are picked by weight, those that failed left out', () => {
  const credential = (name: string, weight: number) => ({ name, weight, value: name })
  const [a, b, spare] = [credential('a', 3), credential('b', 1), credential('spare', 0)]
  const random = seededRandom(5)
  const counts: Record<string, number> = {}
  for (let i = 0; i < 1000; i++) {
    const { name } = pickCredential([a, b, spare], new Set(), random)!
    counts[name] = (counts[name] ?? 0) + 1
  }
  expect(counts.a! / 1000).toBeGreaterThan(0.68)
  expect(counts.a! / 1000).toBeLessThan(0.82)
  expect(counts.spare).toBeUndefined()
  expect(pickCredential([a, b, spare], new Set([a, b]))).toBe(spare)
  expect(pickCredential([a], new Set([a]))).toBeNull()
  expect(pickCredential([], new Set())).toBeNull()
})
