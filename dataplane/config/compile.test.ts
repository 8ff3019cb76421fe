import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { compile } from './compile.ts'
import { SNAPSHOT_SCHEMA, type Snapshot } from './snapshot.ts'

const identity = (uid: string, requires: string[] = []) => ({
  uid,
  namespace: 'apps',
  name: uid,
  generation: 1,
  requires,
})
const sha256 = (key: string) => createHash('sha256').update(key).digest('hex')

const tenant = (uid: string, keys: string[], anonymous = false, requires: string[] = []) => ({
  ...identity(uid, requires),
  keys: keys.map(key => ({ name: key, sha256: sha256(key) })),
  anonymous,
  allNamespaces: false,
})

const snapshot = (more: Partial<Snapshot>): Snapshot => ({
  epoch: 'e',
  generation: 1,
  schema: SNAPSHOT_SCHEMA,
  backends: [],
  routes: [],
  tenants: [],
  policies: [],
  ...more,
})

test('a tenant is found by any of its keys and by no other', () => {
  const config = compile(snapshot({ tenants: [tenant('a', ['k1', 'k2']), tenant('b', ['k3'])] }), new Map())
  expect(['k1', 'k2', 'k3', 'k4', ''].map(key => config.tenantByKey(key)?.config.uid)).toEqual([
    'a',
    'a',
    'b',
    undefined,
    undefined,
  ])
  expect(config).toMatchObject({ hasKeys: true, anonymous: null })
  expect(compile(snapshot({ tenants: [tenant('c', [], true)] }), new Map())).toMatchObject({
    hasKeys: false,
    anonymous: { id: 'apps/c' },
  })
})

test('what needs a feature that this gateway lacks is refused; a policy that cannot be enforced closes its targets', () => {
  const policy = {
    ...identity('p', ['tokens/v9']),
    targets: [{ kind: 'LLMRoute' as const, name: 'r', uid: 'route-uid' }],
    limits: [],
  }
  const config = compile(snapshot({ tenants: [tenant('a', [], false, ['vips'])], policies: [policy] }), new Map())
  expect(config.refused.map(({ kind, name, reason }) => [kind, name, reason])).toEqual([
    ['LLMTenant', 'a', 'UnsupportedByGateway'],
    ['RateLimitPolicy', 'p', 'UnsupportedByGateway'],
  ])
  expect([...config.unsupported]).toEqual([
    ['a', 'vips'],
    ['p', 'tokens/v9'],
    ['route-uid', 'tokens/v9'],
  ])
})
