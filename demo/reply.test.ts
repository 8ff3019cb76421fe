import { expect, test } from 'vitest'
import { generate, replyTo } from './reply.ts'
import { tokenize } from './tokenizer.ts'

test('the reply is a function of the question and echoes it', () => {
  const reply = replyTo('Why is the sky blue?')
  expect(replyTo('Why is the sky blue?')).toBe(reply)
  expect(reply).toContain('Why is the sky blue?')
  expect(reply).toContain('demo model of Weir')
})

test('the wording varies with the question', () => {
  const wordings = new Set(
    Array.from({ length: 50 }, (_, i) => replyTo(`question ${i}`).replaceAll(`question ${i}`, '')),
  )
  expect(wordings.size).toBeGreaterThan(10)
})

test('a long question is echoed in part, between words and never inside a character', () => {
  const reply = replyTo('word '.repeat(1_000_000))
  expect(reply.length).toBeLessThan(400)
  expect(reply).toContain('word word…')
  expect(replyTo(`a${'🙂'.repeat(1000)}`).isWellFormed()).toBe(true)
})

test('an empty question has an answer too', () => {
  expect(replyTo('')).toContain('You sent no text')
  expect(replyTo('  \n ')).toContain('You sent no text')
})

test('asked to count, it counts, up to its bound', () => {
  expect(replyTo('Please count to 5')).toBe('1, 2, 3, 4, 5.')
  expect(replyTo('count to 999999999')).toMatch(/ 2000\.$/)
  expect(replyTo('count to 0')).toContain('demo model of Weir')
})

test('the limit cuts after that many tokens, and exactly enough is complete', () => {
  const tokens = tokenize('one two three')
  expect(generate('one two three', 2, [])).toEqual({ tokens: tokens.slice(0, 2), end: 'limit', stopSequence: null })
  expect(generate('one two three', 3, [])).toEqual({ tokens, end: 'complete', stopSequence: null })
  expect(generate('one', 0, [])).toEqual({ tokens: [], end: 'limit', stopSequence: null })
})

test('the earliest stop sequence ends the text before it', () => {
  expect(generate('one two three four', 100, ['four', 'three'])).toEqual({
    tokens: ['one', ' two '],
    end: 'stopSequence',
    stopSequence: 'three',
  })
})

test('a stop sequence that lies beyond the limit is never reached', () => {
  expect(generate('one two three', 2, [' three'])).toMatchObject({ end: 'limit', stopSequence: null })
  expect(generate('one two three', 2, ['two th'])).toMatchObject({ end: 'limit', stopSequence: null })
})
