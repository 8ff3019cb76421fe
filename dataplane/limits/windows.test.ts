import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PolicyConfig } from '../config/snapshot.ts'
import { isRefusal, type LimitRefusal, type Reservation } from './limits.ts'
import { MAX_KEYS_PER_LIMIT, WindowLimits } from './windows.ts'

type LimitConfig = PolicyConfig['limits'][number]

const limit = (more: Partial<LimitConfig> = {}): LimitConfig => ({
  name: 'rpm',
  by: [],
  requests: 3,
  perMs: 60_000,
  ...more,
})

const policy = (limits: LimitConfig[], targets = ['route'], uid = 'policy'): PolicyConfig => ({
  uid,
  namespace: 'apps',
  name: uid,
  generation: 1,
  requires: [],
  limits,
  targets: targets.map(target => ({ kind: 'LLMRoute', name: target, uid: target })),
})

/** Limits with a clock that tests move. */
function limits(...policies: PolicyConfig[]) {
  const clock = { now: 1_700_000_000_000 }
  const made = new WindowLimits(() => clock.now)
  made.apply(policies)
  const take = (targets = ['route'], subject = { tenant: 'a', model: 'm' }) => made.charge(targets, subject)
  const admits = (targets?: string[], subject?: { tenant: string; model: string }) => !isRefusal(take(targets, subject))
  return { clock, made, take, admits }
}

describe('requests per window', () => {
  test('no more than the limit, then the time until the next window', () => {
    const { clock, take, admits } = limits(policy([limit()]))
    expect([admits(), admits(), admits(), admits()]).toEqual([true, true, true, false])
    const refusal = take() as LimitRefusal
    expect(refusal).toMatchObject({ policy: 'apps/policy', limit: 'rpm', max: 3, remaining: 0 })
    clock.now += refusal.resetMs - 1
    expect(admits()).toBe(false)
    clock.now += 1
    expect(admits()).toBe(true)
  })

  test('a target without limits is not charged', () => {
    expect(limits(policy([limit()])).take(['other'])).toBeNull()
  })

  test('each tenant, each model and each target has a budget of its own', () => {
    const { admits } = limits(policy([limit({ requests: 1, by: ['Tenant', 'Model'] })], ['route', 'other']))
    for (const target of ['route', 'other']) {
      for (const tenant of ['a', 'b']) {
        for (const model of ['m', 'n']) {
          expect([admits([target], { tenant, model }), admits([target], { tenant, model })]).toEqual([true, false])
        }
      }
    }
  })

  test('all limits or none: what one refuses costs the others nothing', () => {
    const small = limit({ name: 'small', requests: 1, perMs: 1000 })
    const { clock, take, admits } = limits(policy([limit({ requests: 2 })]), policy([small], ['tenant'], 'second'))
    const both = ['route', 'tenant']
    expect(admits(both)).toBe(true)
    expect(take(both)).toMatchObject({ limit: 'small' })
    clock.now += 1000
    expect(admits(both)).toBe(true)
    clock.now += 1000
    expect(take(both)).toMatchObject({ limit: 'rpm' })
  })

  test('of several that refuse, the one that lasts longest is named', () => {
    const { admits, take } = limits(
      policy([limit({ requests: 1, perMs: 1000 }), limit({ name: 'rph', requests: 1, perMs: 3_600_000 })]),
    )
    expect(admits()).toBe(true)
    expect(take()).toMatchObject({ limit: 'rph' })
  })

  test('a refund counts once, and only in its own window', () => {
    const { clock, take, admits } = limits(policy([limit({ requests: 1 })]))
    const taken = take() as Reservation
    taken.refund()
    taken.refund()
    expect([admits(), admits()]).toEqual([true, false])
    clock.now += 60_000
    const old = take() as Reservation
    clock.now += 60_000
    expect(admits()).toBe(true)
    old.refund()
    expect(admits()).toBe(false)
  })

  test('what was settled is not given back', () => {
    const { take, admits } = limits(policy([limit({ requests: 1 })]))
    const taken = take() as Reservation
    taken.settle(null)
    taken.refund()
    expect(admits()).toBe(false)
  })
})

describe('a new configuration', () => {
  test('an edited limit keeps its usage, a renamed one and one with other keys start afresh', () => {
    const { made, admits } = limits(policy([limit({ requests: 2 })]))
    expect([admits(), admits(), admits()]).toEqual([true, true, false])
    made.apply([policy([limit({ requests: 3 })])])
    expect([admits(), admits()]).toEqual([true, false])
    made.apply([policy([limit({ requests: 3, by: ['Tenant'] })])])
    expect(admits()).toBe(true)
    made.apply([policy([limit({ name: 'other', requests: 1 })])])
    expect(admits()).toBe(true)
  })

  test('a policy that goes frees its target', () => {
    const { made, admits } = limits(policy([limit({ requests: 1 })]))
    expect([admits(), admits()]).toEqual([true, false])
    made.apply([])
    expect(admits()).toBe(true)
  })
})

test('invented names share one budget once there are too many of them', () => {
  const { admits } = limits(policy([limit({ requests: 1, by: ['Model'] })]))
  for (let i = 0; i < MAX_KEYS_PER_LIMIT; i++) admits(['route'], { tenant: 'a', model: `m${i}` })
  expect(admits(['route'], { tenant: 'a', model: 'x' })).toBe(true)
  expect(admits(['route'], { tenant: 'a', model: 'y' })).toBe(false)
})

test('idle budgets make room for new ones', () => {
  const { clock, admits } = limits(policy([limit({ requests: 1, by: ['Model'], perMs: 1000 })]))
  for (let i = 0; i < MAX_KEYS_PER_LIMIT; i++) admits(['route'], { tenant: 'a', model: `m${i}` })
  clock.now += 5000
  expect([admits(['route'], { tenant: 'a', model: 'x' }), admits(['route'], { tenant: 'a', model: 'y' })]).toEqual([
    true,
    true,
  ])
})

test('no window ever admits more than the limit, also when the clock steps back', () => {
  // Windows of a key start at its hash, so that tenants do not refill in step.
  const offset = createHash('sha256').update('').digest().readUInt32BE() % 1000
  const step = fc.record({ by: fc.integer({ min: -1500, max: 2500 }), refund: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const { clock, take } = limits(policy([limit({ requests: 2, perMs: 1000 })]))
      const admitted = new Map<number, number>()
      let latest = Number.NEGATIVE_INFINITY
      for (const { by, refund } of steps) {
        clock.now += by
        latest = Math.max(latest, clock.now)
        const window = Math.floor((latest - offset) / 1000)
        const used = admitted.get(window) ?? 0
        const result = take() as Reservation | LimitRefusal
        expect(isRefusal(result)).toBe(used === 2)
        if (isRefusal(result)) continue
        if (refund) result.refund()
        else admitted.set(window, used + 1)
      }
    }),
  )
})
