import { expect, test } from 'vitest'
import { nearest } from './spelling.ts'

test.each([
  ['timeuot', 'timeout'],
  ['Timeout', 'timeout'],
  ['timeouts', 'timeout'],
  ['maxwait', 'maxWait'],
  ['ulr', 'url'],
  ['patience', undefined],
  ['', undefined],
  ['x'.repeat(1_000_000), undefined],
])('%.20s means %s', (word, meant) => {
  expect(nearest(word, ['timeout', 'maxWait', 'url'])).toBe(meant)
})

test('the nearest of several wins', () => {
  expect(nearest('modes', ['model', 'nodes', 'mode'])).toBe('model')
  expect(nearest('mode', ['models', 'mode'])).toBe('mode')
})
