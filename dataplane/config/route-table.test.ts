import { describe, expect, test } from 'vitest'
import { compile } from './compile.ts'
import { type RouteConfig, SNAPSHOT_SCHEMA, type TenantConfig } from './snapshot.ts'

const route = (name: string, more: Partial<RouteConfig> = {}): RouteConfig => ({
  uid: name,
  namespace: 'apps',
  name,
  generation: 1,
  requires: [],
  createdAt: 0,
  match: { models: ['m'], headers: [] },
  access: { namespaces: [more.namespace ?? 'apps'] },
  targets: [{ namespace: 'apps', name: 'b', priority: 0, weight: 1 }],
  retry: { attempts: 1, failures: [], codes: [], backoff: { baseMs: 0, maxMs: 0 } },
  timeoutMs: 1000,
  maxWaitMs: 0,
  ...more,
})

const models = (...names: string[]) => ({ match: { models: names, headers: [] } })

/** The table of tenant `team` in namespace `apps`. */
function table(routes: RouteConfig[], tenant: Partial<TenantConfig> = {}) {
  const identity = { uid: 'team', namespace: 'apps', name: 'team', generation: 1, requires: [] }
  const tenants = [{ ...identity, keys: [], anonymous: true, allNamespaces: false, ...tenant }]
  const snapshot = { epoch: 'e', generation: 1, schema: SNAPSHOT_SCHEMA, backends: [], routes, tenants, policies: [] }
  return compile(snapshot, new Map()).anonymous!.table
}

const winner = (routes: RouteConfig[], model = 'm', headers = {}) =>
  table(routes).find(model, headers)?.route.config.name

describe('precedence, each rule against the one below it', () => {
  const shared = { namespace: 'other', access: { namespaces: ['other', 'apps'] } }
  test.each<[string, RouteConfig, RouteConfig]>([
    ['an own pattern before an exact name from elsewhere', route('own', models('*')), route('a', { ...shared })],
    ['an exact name before a pattern', route('z'), route('a', models('m*'))],
    ['a longer literal beginning before a shorter one', route('z', models('m*')), route('a', models('*'))],
    [
      'a route that names the tenant before one for all',
      route('z', { access: { namespaces: ['apps'], tenants: ['team'] } }),
      route('a', { match: { models: ['m'], headers: [{ name: 'x', value: '1' }] } }),
    ],
    [
      'more header matches before fewer',
      route('z', { createdAt: 9, match: { models: ['m'], headers: [{ name: 'X', value: '1' }] } }),
      route('a', { createdAt: 1 }),
    ],
    ['the older before the younger', route('z', { createdAt: 1 }), route('a', { createdAt: 2 })],
    ['the first by name where all else is the same', route('a'), route('z')],
  ])('%s', (_, first, second) => {
    expect(winner([first, second], 'm', { x: '1' })).toBe(first.name)
    expect(winner([second, first], 'm', { x: '1' })).toBe(first.name)
  })
})

test('a route whose headers do not match gives way to the next', () => {
  const gold = route('gold', { match: { models: ['m'], headers: [{ name: 'X-Tier', value: 'gold' }] } })
  const routes = [gold, route('all', models('*'))]
  expect(winner(routes, 'm', { 'x-tier': 'gold' })).toBe('gold')
  expect(winner(routes, 'm', { 'x-tier': 'Gold' })).toBe('all')
  expect(winner(routes)).toBe('all')
})

test('only what is open to the tenant is seen', () => {
  const routes = [
    route('theirs', { namespace: 'other', ...models('theirs') }),
    route('named', { ...models('named'), access: { namespaces: ['apps'], tenants: ['other-team'] } }),
    route('mine', models('mine', 'my-*')),
  ]
  expect(table(routes).names()).toEqual(['mine'])
  expect(table(routes).offers()).toEqual(['mine', 'my-*'])
  expect(winner(routes, 'theirs')).toBeUndefined()
  expect(winner(routes, 'named')).toBeUndefined()
  expect(table(routes, { allNamespaces: true }).names()).toEqual(['mine', 'theirs'])
})

test('invented names are answered right, however many there are', () => {
  const many = table([route('r', models('m', 'x-*'))])
  for (let i = 0; i < 5000; i++) expect(many.find(`x-${i}`, {})?.pattern).toBe('x-*')
  expect(many.find('y', {})).toBeNull()
})
