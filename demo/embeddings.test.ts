import { expect, test } from 'vitest'
import { embeddings, vectorOf } from './embeddings.ts'

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)

test('vectors have length one and are the same for the same tokens', () => {
  for (const dimensions of [1, 2, 256, 1024]) {
    const vector = vectorOf(['the', 'river'], dimensions)
    expect(vector).toHaveLength(dimensions)
    expect(dot(vector, vector)).toBeCloseTo(1, 5)
    expect(vectorOf(['the', 'river'], dimensions)).toEqual(vector)
  }
  expect(dot(vectorOf([], 8), vectorOf([], 8))).toBe(1)
})

test('texts that share words are closer than texts that share none', () => {
  const weir = vectorOf(['a', 'weir', 'holds', 'water'], 256)
  expect(dot(weir, vectorOf(['a', 'weir', 'holds', 'fish'], 256))).toBeGreaterThan(
    dot(weir, vectorOf(['completely', 'other', 'words'], 256)) + 0.3,
  )
})

test.each([
  [{ input: 'x' }, /model/],
  [{ model: 'demo' }, /input/],
  [{ model: 'demo', input: '' }, /input/],
  [{ model: 'demo', input: [] }, /input/],
  [{ model: 'demo', input: ['a', ''] }, /input/],
  [{ model: 'demo', input: [1, -2] }, /input/],
  [{ model: 'demo', input: 'a '.repeat(8193) }, /8192/],
  [{ model: 'demo', input: Array.from({ length: 2049 }, () => 'a') }, /2048/],
  [{ model: 'demo', input: 'a', dimensions: 0 }, /dimensions/],
  [{ model: 'demo', input: 'a', dimensions: 1025 }, /dimensions/],
  [{ model: 'demo', input: 'a', encoding_format: 'hex' }, /encoding_format/],
])('refuses %j', (fields, message) => {
  expect(() => embeddings(fields)).toThrow(message)
})
