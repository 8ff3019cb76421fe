import { expect, test } from 'vitest'
import { formatSeconds, plural, table } from './words.ts'

test('singular and plural', () => {
  expect([0, 1, 2].map(count => plural(count, 'route'))).toEqual(['0 routes', '1 route', '2 routes'])
})

test.each([
  [0, '0s'],
  [0.4, '0s'],
  [59.6, '1m'],
  [61, '1m 1s'],
  [600, '10m'],
  [3600, '1h'],
  [7500, '2h 5m'],
])('%d seconds are %s', (seconds, text) => {
  expect(formatSeconds(seconds)).toBe(text)
})

test('columns are as wide as their widest cell', () => {
  expect(
    table(
      ['A', 'LONG', 'C'],
      [
        ['aaa', 'x', ''],
        ['', 'y', 'z'],
      ],
    ),
  ).toEqual(['A    LONG  C', 'aaa  x', '     y     z'])
})
