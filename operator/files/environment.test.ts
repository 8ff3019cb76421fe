import { expect, test } from 'vitest'
import { expandVariables } from './environment.ts'

const reference = (name: string) => `$\{${name}}`
const environment = { KEY: 'k-1', EMPTY: '', DOLLAR: `$&${reference('KEY')}` }

test('a variable is replaced wherever it stands', () => {
  expect(expandVariables(`Bearer ${reference('KEY')}/${reference('KEY')}`, environment)).toBe('Bearer k-1/k-1')
})

test('a value is not expanded again', () => {
  expect(expandVariables(reference('DOLLAR'), environment)).toBe(environment.DOLLAR)
})

test('a doubled dollar sign stands for a literal one, and a dollar sign alone for itself', () => {
  expect(expandVariables(`$${reference('KEY')} costs 5$ $KEY`, environment)).toBe(`${reference('KEY')} costs 5$ $KEY`)
})

test.each([
  ['NOT_THERE', 'the environment variable NOT_THERE is not set'],
  ['EMPTY', 'the environment variable EMPTY is empty'],
])('%s is an error that names it', (name, message) => {
  expect(() => expandVariables(reference(name), environment)).toThrow(message)
})

test.each(['${KEY', reference('KEY:-x'), reference(''), reference('a b')])('%s is no reference', text => {
  expect(() => expandVariables(text, environment)).toThrow('write $$')
})
