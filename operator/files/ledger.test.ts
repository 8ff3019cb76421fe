import { expect, test } from 'vitest'
import { Ledger, objectKey } from './ledger.ts'

const key = objectKey('LLMRoute', 'default', 'chat')
const record = (ledger: Ledger, spec: unknown) => ledger.record('LLMRoute', 'default', 'chat', spec)

test('the generation grows with the spec, and the order of fields does not matter', () => {
  const ledger = new Ledger()
  const first = record(ledger, { a: 1, b: { c: 2, d: 3 } })
  expect(first.generation).toBe(1)
  expect(record(ledger, { b: { d: 3, c: 2 }, a: 1 })).toEqual(first)
  expect(record(ledger, { a: 2 })).toEqual({ uid: first.uid, generation: 2 })
  expect(record(ledger, { a: 1, b: { c: 2, d: 3 } }).generation).toBe(3)
})

test('an object that comes back after its removal is another one', () => {
  const ledger = new Ledger()
  const first = record(ledger, {})
  record(ledger, { a: 1 })
  ledger.keepOnly(new Set())
  const second = record(ledger, {})
  expect(second.uid).not.toBe(first.uid)
  expect(second.generation).toBe(1)
  ledger.keepOnly(new Set([key]))
  expect(record(ledger, {})).toEqual(second)
})

test('another process gives the same UID, another object another one', () => {
  expect(record(new Ledger(), {})).toEqual(record(new Ledger(), { other: true }))
  const uids = ['a', 'b'].flatMap(name => ['x', 'y'].map(ns => new Ledger().record('LLMRoute', ns, name, {}).uid))
  expect(new Set(uids).size).toBe(4)
})
