import { expect, test } from 'vitest'
import type { Content } from '../operator/translate/types.ts'
import { noticesOf } from './notices.ts'

const identity = { uid: 'u', namespace: 'default', generation: 1, requires: [], keys: [] }
const keyed = { ...identity, name: 'team', anonymous: false, allNamespaces: false }
const anonymous = { ...keyed, name: 'all', anonymous: true }
const fallback = { ...anonymous, allNamespaces: true }
const content = (...tenants: Content['tenants']) => ({ content: { backends: [], routes: [], policies: [], tenants } })

test.each([
  ['a tenant with keys, on any host', content(keyed), '0.0.0.0', []],
  ['an anonymous one on loopback', content(anonymous), '127.0.0.1', []],
  ['an anonymous one on every address', content(keyed, anonymous), '0.0.0.0', ['without a key']],
  ['none', content(fallback), '127.0.0.1', ['every caller may use every route']],
  ['none on every address', content(fallback), '::', ['every caller may use every route', 'without a key']],
  ['none any more', content(), '127.0.0.1', ['every caller is refused']],
])('%s', (_, configuration, host, expected) => {
  expect(noticesOf(configuration, host)).toEqual(expected.map(text => expect.stringContaining(text)))
})
