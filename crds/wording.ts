import type { z } from 'zod'
import type { ProblemCode } from './problem.ts'
import { nearest } from './spelling.ts'

// Every number in the schemas is a whole one; lint.ts sees to that.
const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
}

/** What a zod issue says to a person; `value` is what stands at the issue's path. */
export function wordIssue(issue: z.core.$ZodIssue, value: unknown): { code: ProblemCode; message: string } {
  if (value === undefined && issue.code !== 'custom') return { code: 'Required', message: 'is required' }
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue.expected, value)
    case 'invalid_value':
      return typeof value === 'string' ? notOneOf(issue.values.map(String), value) : wrongType('string', value)
    case 'too_small':
    case 'too_big':
      return { code: 'InvalidValue', message: outOfBounds(issue, value) }
    default:
      return { code: 'InvalidValue', message: issue.message }
  }
}

function wrongType(expected: string, value: unknown): { code: ProblemCode; message: string } {
  const type = TYPES[expected] ?? expected
  return { code: 'WrongType', message: `must be ${type}, is ${whatItIs(value)}${quoting(expected, value)}` }
}

function quoting(expected: string, value: unknown): string {
  if (expected === 'string') return typeof value === 'number' || typeof value === 'boolean' ? '; put it in quotes' : ''
  if (typeof value !== 'string') return ''
  const bare = expected === 'boolean' ? /^(true|false)$/ : /^-?[0-9]+$/
  return bare.test(value) ? '; remove the quotes' : ''
}

function notOneOf(values: string[], value: string): { code: ProblemCode; message: string } {
  const meant = nearest(value, values)
  const advice = meant ? `; did you mean ${meant}?` : ''
  return { code: 'InvalidValue', message: `must be ${oneOf(values)}, is ${shown(value)}${advice}` }
}

function outOfBounds(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, value: unknown): string {
  const [side, bound] = issue.code === 'too_small' ? ['at least', issue.minimum] : ['at most', issue.maximum]
  const size = typeof value === 'string' || Array.isArray(value) ? value.length : undefined
  if (size === undefined) return `must be ${side} ${bound}, is ${String(value)}`
  if (size === 0) return 'must not be empty'
  const unit = `${typeof value === 'string' ? 'character' : 'item'}${Number(bound) === 1 ? '' : 's'}`
  return `must have ${side} ${bound} ${unit}, has ${size}`
}

/** What a value is, without its content when that may be long or secret. */
export function whatItIs(value: unknown): string {
  if (value === undefined) return 'absent'
  if (value === null) return 'empty (null)'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'boolean') return String(value)
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** `A`, `A or B`, `one of A, B, C`. */
export function oneOf(values: readonly string[]): string {
  return values.length > 2 ? `one of ${values.join(', ')}` : values.join(' or ')
}

/** A value that someone wrote, quoted and cut to a length that fits a line. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
}
