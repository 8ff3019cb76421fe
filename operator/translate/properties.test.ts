import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compile } from '../../dataplane/config/compile.ts'
import { RouteTable } from '../../dataplane/config/route-table.ts'
import { type RouteConfig, SNAPSHOT_SCHEMA, type Snapshot, snapshotSchema } from '../../dataplane/config/snapshot.ts'
import { options, resources } from './arbitraries.ts'
import { findConflicts } from './conflicts.ts'
import { byAge } from './order.ts'
import { translate } from './translate.ts'
import type { Content, TranslateOptions } from './types.ts'

const OPTIONS: TranslateOptions = { gateway: 'weir', anonymousNamespaces: '*', anonymousFallback: false, now: 0 }
const RUNS = { numRuns: 300 }

function snapshotOf(content: Content): Snapshot {
  return { epoch: 'e', generation: 1, schema: { ...SNAPSHOT_SCHEMA }, ...content }
}

test('the order of the input does not matter', () => {
  fc.assert(
    fc.property(resources, resources, options, fc.infiniteStream(fc.nat()), (before, now, setting, random) => {
      const published = translate(before, undefined, setting).content
      const shuffle = <T>(list: T[]) =>
        list
          .map(item => ({ item, key: random.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ item }) => item)
      const shuffled = { objects: shuffle(now.objects), secrets: shuffle(now.secrets) }
      expect(translate(shuffled, published, setting)).toEqual(translate(now, published, setting))
    }),
    RUNS,
  )
})

test('what has been published once comes out again', () => {
  fc.assert(
    fc.property(resources, resources, options, (before, now, setting) => {
      const published = translate(before, undefined, setting).content
      const { content } = translate(now, published, setting)
      expect(translate(now, content, setting).content).toEqual(content)
      const fresh = translate(now, undefined, setting)
      expect(translate(now, fresh.content, setting)).toEqual(fresh)
    }),
    RUNS,
  )
})

test('gateways can read and compile whatever comes out', () => {
  fc.assert(
    fc.property(resources, resources, options, (before, now, setting) => {
      const snapshot = snapshotOf(translate(now, translate(before, undefined, setting).content, setting).content)
      expect(snapshotSchema.parse(snapshot)).toEqual(snapshot)
      expect(compile(snapshot, new Map()).refused).toEqual([])
      const keys = snapshot.tenants.flatMap(tenant => tenant.keys.map(key => key.sha256))
      expect(new Set(keys).size).toBe(keys.length)
      expect(snapshot.tenants.filter(tenant => tenant.anonymous).length).toBeLessThanOrEqual(1)
    }),
    RUNS,
  )
})

test('a verdict says what the content serves', () => {
  fc.assert(
    fc.property(resources, resources, options, (before, now, setting) => {
      const { content, verdicts } = translate(now, translate(before, undefined, setting).content, setting)
      const served = new Map(
        Object.values(content).flatMap(list => list.map(({ uid, generation }) => [uid, generation])),
      )
      served.delete('anonymous')
      const told = verdicts.flatMap(({ uid, servedGeneration: told }) =>
        told === undefined ? [] : [[uid, told] as const],
      )
      expect(new Map(told)).toEqual(served)
    }),
    RUNS,
  )
})

/** Routes as the gateway's own table takes them, whether or not all of them are in the content. */
function tableOf(routes: RouteConfig[], namespace: string, name: string): RouteTable {
  const content: Content = { backends: [], routes, tenants: [], policies: [] }
  const identity = { uid: 't', namespace, name, generation: 1, requires: [] }
  const tenant = { ...identity, keys: [], anonymous: true, allNamespaces: false }
  return new RouteTable(compile(snapshotOf(content), new Map()).routes, tenant)
}

/** Each route as it is rendered alone, without any conflict. */
const routes = resources.map(({ objects }) =>
  objects
    .filter(object => object.kind === 'LLMRoute')
    .flatMap(object => translate({ objects: [object], secrets: [] }, undefined, OPTIONS).content.routes)
    .sort(byAge),
)

test('no request of a lost cell reaches the route in a gateway', () => {
  fc.assert(
    fc.property(routes, fc.constantFrom('', '4', '-mini', 'zz'), (all, filling) => {
      const conflicts = findConflicts(all, false)
      for (const route of all) {
        const headers = Object.fromEntries(route.match.headers.map(({ name, value }) => [name.toLowerCase(), value]))
        for (const { view, tenant, pattern } of conflicts.get(route.uid)?.examples ?? []) {
          const found = tableOf(all, view, tenant ?? 'somebody').find(pattern.replaceAll('*', filling), headers)
          // It may still come by another of its patterns, which is another cell.
          expect([found?.route.id, found?.pattern]).not.toEqual([`${route.namespace}/${route.name}`, pattern])
        }
      }
    }),
    { numRuns: 1000 },
  )
})

test('a route that is left out for its conflicts is one that gateways would never have taken', () => {
  const requests = fc.record({
    namespace: fc.constantFrom('apps', 'web'),
    tenant: fc.constantFrom('a', 'b', 'other'),
    model: fc.constantFrom('gpt-4', 'gpt-4-mini', 'gpt-5', 'x-mini', 'claude'),
    headers: fc.record({ 'x-tier': fc.constant('gold'), 'x-app': fc.constant('web') }, { requiredKeys: [] }),
  })
  fc.assert(
    fc.property(routes, fc.array(requests, { minLength: 1 }), (all, asked) => {
      const conflicts = findConflicts(all, false)
      const served = all.filter(({ uid }) => {
        const losses = conflicts.get(uid)
        return !losses || losses.lost < losses.cells
      })
      for (const { namespace, tenant, model, headers } of asked) {
        const found = tableOf(served, namespace, tenant).find(model, headers)
        expect(found?.route.id).toBe(tableOf(all, namespace, tenant).find(model, headers)?.route.id)
      }
    }),
    { numRuns: 500 },
  )
})
