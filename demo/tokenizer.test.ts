import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countTokens, tokenize } from './tokenizer.ts'

test('words and marks are tokens, white space belongs to the next one', () => {
  expect(tokenize('Hello, big  world_2!')).toEqual(['Hello', ',', ' big', '  world_2', '!'])
  expect(countTokens('Hello, big  world_2!')).toBe(5)
})

test('white space at the end belongs to the last token, alone it has none', () => {
  expect(tokenize('a b \n')).toEqual(['a', ' b \n'])
  expect(tokenize(' \n\t')).toEqual([])
  expect(countTokens('')).toBe(0)
})

test('characters beyond ASCII are words, never cut between surrogates', () => {
  expect(tokenize('naïve 🙂🙂 日本語。')).toEqual(['naïve', ' 🙂🙂', ' 日本語。'])
})

test('tokens join to the text, and the count is their number', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => {
      const tokens = tokenize(text)
      expect(countTokens(text)).toBe(tokens.length)
      if (tokens.length > 0) expect(tokens.join('')).toBe(text)
    }),
  )
})

test('counting what was tokenized piece by piece gives one each', () => {
  for (const token of tokenize('It is (almost) the 3rd of May: 10.5%.')) expect(countTokens(token)).toBe(1)
})
