import { expect, test } from 'vitest'
import type { RouteConfig } from '../../dataplane/config/snapshot.ts'
import { Shadow } from './shadow.ts'

function route(name: string, models: string[], tenants?: string[], headers: Record<string, string> = {}): RouteConfig {
  return {
    uid: name,
    namespace: 'apps',
    name,
    generation: 1,
    requires: [],
    createdAt: 0,
    match: { models, headers: Object.entries(headers).map(([key, value]) => ({ name: key, value })) },
    access: { namespaces: ['apps'], ...(tenants && { tenants }) },
    targets: [{ namespace: 'apps', name: 'b', priority: 0, weight: 1 }],
    retry: { attempts: 1, failures: [], codes: [], backoff: { baseMs: 0, maxMs: 0 } },
    timeoutMs: 1,
    maxWaitMs: 1,
  }
}

test.each([
  ['gpt-4', 'gpt-4', true],
  ['gpt-4', 'gpt-4o', false],
  ['gpt-*', 'gpt-4', true],
  ['gpt-*', 'gpt-', true],
  ['gpt-*', 'gpt-*', true],
  ['gpt-*', 'gpt-4*mini', true],
  ['gpt-*', '*', false],
  ['gpt-*', 'gpt*', false],
  ['*', '*', true],
  ['*', 'anything/*', true],
  ['*-mini', 'gpt-4-mini', true],
  ['*-mini', 'gpt-4', false],
  ['*-mini', 'gpt-*', false],
  ['*-mini', 'gpt-*-mini', true],
  ['a*b*c', 'a-b-*-c', true],
  ['a*b*c', 'a*c', false],
])('%s covers %s: %j', (own, other, covers) => {
  const found = new Shadow([route('own', [own])]).covering(route('other', [other]), other, null)
  expect(found?.name).toBe(covers ? 'own' : undefined)
})

test('the first of several that cover is named', () => {
  const shadow = new Shadow([route('first', ['gpt-*']), route('second', ['gpt-*'])])
  expect(shadow.covering(route('other', ['gpt-4']), 'gpt-4', null)?.name).toBe('first')
})

test('a route for some tenants covers only theirs', () => {
  const shadow = new Shadow([route('own', ['*'], ['a'])])
  const other = route('other', ['x'])
  expect(shadow.covering(other, 'x', 'a')?.name).toBe('own')
  expect(shadow.covering(other, 'x', 'b')).toBeUndefined()
  expect(shadow.covering(other, 'x', null)).toBeUndefined()
})

test('a route that asks for headers covers only those that ask for the same and more', () => {
  const shadow = new Shadow([route('own', ['*'], undefined, { 'X-Tier': 'gold' })])
  expect(shadow.covering(route('plain', ['x']), 'x', null)).toBeUndefined()
  expect(shadow.covering(route('silver', ['x'], undefined, { 'x-tier': 'silver' }), 'x', null)).toBeUndefined()
  expect(shadow.covering(route('both', ['x'], undefined, { 'x-tier': 'gold', a: 'b' }), 'x', null)?.name).toBe('own')
})
