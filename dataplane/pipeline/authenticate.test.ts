import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { compile } from '../config/compile.ts'
import { anthropic } from '../dialects/anthropic.ts'
import { openai } from '../dialects/openai.ts'
import { snapshotOf, tenantOf } from '../testdata/objects.ts'
import { authenticate } from './authenticate.ts'

const keyed = (uid: string, key: string) =>
  tenantOf(uid, { keys: [{ name: 'k', sha256: createHash('sha256').update(key).digest('hex') }] })
const config = (...tenants: ReturnType<typeof tenantOf>[]) => compile(snapshotOf({ tenants }), new Map())
const anonymous = tenantOf('guest', { anonymous: true })
const who = (made: ReturnType<typeof config>, headers: Record<string, string>, dialect = openai) =>
  authenticate(made, dialect, headers).config.uid

describe('with keys', () => {
  const made = config(keyed('a', 'key-a'), keyed('b', 'key-b'))

  test.each([
    ['authorization', 'Bearer key-a'],
    ['authorization', 'bearer   key-a '],
    ['x-api-key', 'key-a'],
    ['api-key', 'key-a'],
    ['x-goog-api-key', 'key-a'],
  ])('a key is found in %s: %s', (name, value) => {
    expect(who(made, { [name]: value })).toBe('a')
    expect(who(made, { [name]: value }, anthropic)).toBe('a')
  })

  test('of two headers the one that the dialect prefers counts', () => {
    const both = { authorization: 'Bearer key-a', 'x-api-key': 'key-b' }
    expect(who(made, both)).toBe('a')
    expect(who(made, both, anthropic)).toBe('b')
  })

  test.each([
    ['none', {}, 'An API key is required'],
    ['a wrong one', { authorization: 'Bearer key-c' }, 'Incorrect API key'],
    ['another scheme', { authorization: 'Basic a2V5LWE=' }, 'Incorrect API key'],
  ])('%s is refused', (_, headers, message) => {
    expect(() => who(made, headers)).toThrow(message)
  })
})

test('with keys and an anonymous tenant, only who shows no key is anonymous', () => {
  const made = config(keyed('a', 'key-a'), anonymous)
  expect(who(made, {})).toBe('guest')
  expect(who(made, { authorization: 'Bearer key-a' })).toBe('a')
  expect(() => who(made, { authorization: 'Bearer other' })).toThrow('Incorrect API key')
})

test('where no tenant has keys, any key is anonymous, because SDKs always send one', () => {
  expect(who(config(anonymous), { authorization: 'Bearer sk-anything' })).toBe('guest')
  expect(() => who(config(), { authorization: 'Bearer sk-anything' })).toThrow('An API key is required')
})
