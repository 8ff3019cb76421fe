import { expect, test } from 'vitest'
import { coloursFor } from './colour.ts'

test.each([
  ['a terminal', { isTTY: true }, {}, '\x1b[31mx\x1b[39m'],
  ['a pipe', {}, {}, 'x'],
  ['a terminal with NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, 'x'],
  ['a terminal with an empty NO_COLOR', { isTTY: true }, { NO_COLOR: '' }, '\x1b[31mx\x1b[39m'],
  ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, 'x'],
])('red on %s', (_, stream, environment, expected) => {
  expect(coloursFor(stream, environment).red('x')).toBe(expected)
})
