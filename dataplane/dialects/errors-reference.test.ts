import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERRORS_PAGE, errorsPage } from './errors-reference.ts'

test('the reference of errors is what the catalogue says; make generate writes it anew', () => {
  expect(readFileSync(ERRORS_PAGE, 'utf8')).toBe(errorsPage())
})
