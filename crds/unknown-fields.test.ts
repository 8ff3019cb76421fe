import { expect, test } from 'vitest'
import { z } from 'zod'
import { unknownFields } from './unknown-fields.ts'

const schema = z.object({
  name: z.string(),
  nested: z.object({ depth: z.int(), width: z.int().optional() }).optional(),
  items: z.array(z.object({ weight: z.int().optional() })).optional(),
})

test('nothing is unknown in a value that the schema describes', () => {
  expect(unknownFields(schema, { name: 'a', nested: { depth: 1 }, items: [{ weight: 1 }, {}] })).toEqual([])
})

test('unknown fields are found at every depth, with their paths', () => {
  expect(
    unknownFields(schema, { nmae: 'a', nested: { dpeth: 1 }, items: [{}, { wieght: 1, x: 2 }] }, ['spec']),
  ).toEqual([
    { path: ['spec', 'nmae'], suggestion: 'name' },
    { path: ['spec', 'nested', 'dpeth'], suggestion: 'depth' },
    { path: ['spec', 'items', 1, 'wieght'], suggestion: 'weight' },
    { path: ['spec', 'items', 1, 'x'] },
  ])
})

test('a field that is there already is not suggested', () => {
  expect(unknownFields(schema, { name: 'a', nam: 'b' })).toEqual([{ path: ['nam'] }])
})

test('names from the prototype are unknown fields like any other', () => {
  const value: unknown = JSON.parse('{"name": "a", "__proto__": {}, "constructor": 1}')
  expect(unknownFields(schema, value)).toEqual([{ path: ['__proto__'] }, { path: ['constructor'] }])
})

test.each([null, undefined, 3, 'x', []])('a value of another type (%j) has no fields', value => {
  expect(unknownFields(schema, value)).toEqual([])
})
