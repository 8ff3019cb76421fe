import { expect, test } from 'vitest'
import { formatSpread, markdownTable, percentile, spread } from './figures.ts'

test('percentiles lie between the neighbours', () => {
  const values = [40, 10, 30, 20]
  expect(percentile(values, 0)).toBe(10)
  expect(percentile(values, 50)).toBe(25)
  expect(percentile(values, 100)).toBe(40)
  expect(percentile([7], 99)).toBe(7)
  expect(() => percentile([], 50)).toThrow(RangeError)
})

test('a spread shows its middle and its ends', () => {
  expect(spread([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3 })
  expect(formatSpread({ median: 24.06, low: 23, high: 25.5 }, 1, 'µs')).toBe('24.1 µs (23.0–25.5)')
  expect(formatSpread({ median: 2, low: 1, high: 3 }, 2)).toBe('2.00 (1.00–3.00)')
})

test('columns of a table are as wide as their widest cell', () => {
  expect(markdownTable(['a', 'long'], [['first', '1'], ['2']])).toBe(
    ['| a     | long |', '| ----- | ---- |', '| first | 1    |', '| 2     |      |'].join('\n'),
  )
})
