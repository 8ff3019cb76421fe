import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compilePattern } from './glob.ts'

/** The same by regular expression. */
const reference = (pattern: string, model: string) =>
  new RegExp(`^${pattern.split('*').map(RegExp.escape).join('.*')}$`, 's').test(model)

test('a pattern matches what it says, whatever pattern and name', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '*'), maxLength: 8 })
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.'), maxLength: 10 })
  fc.assert(
    fc.property(text, name, (pattern, model) => {
      expect(compilePattern(pattern).matches(model)).toBe(reference(pattern, model))
    }),
    { numRuns: 5000 },
  )
})

test.each([
  ['gpt-*', 'gpt-4o', true],
  ['gpt-*', 'gpt-', true],
  ['team-x/*', 'team-x/a/b', true],
  ['*', '', true],
  ['a*a', 'a', false],
  ['gpt-4o', 'gpt-4o-mini', false],
])('%s and %s: %s', (pattern, model, expected) => {
  expect(compilePattern(pattern).matches(model)).toBe(expected)
})

test('what precedence needs to know', () => {
  expect(compilePattern('gpt-4o')).toMatchObject({ exact: true, literalPrefix: 6 })
  expect(compilePattern('gpt-*-x')).toMatchObject({ exact: false, literalPrefix: 4 })
})
