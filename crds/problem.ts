import type { Path } from './path.ts'

/** Stable: tools may depend on them. */
const PROBLEM_CODES = [
  'UnknownField',
  'WrongType',
  'Required',
  'InvalidValue',
  'UnknownKind',
  'ApiVersion',
  'Metadata',
] as const

export type ProblemCode = (typeof PROBLEM_CODES)[number]

export function isProblemCode(text: string): text is ProblemCode {
  return PROBLEM_CODES.some(code => code === text)
}

/** One thing that is wrong with a document. */
export interface Problem {
  /** From the root of the document. */
  path: Path
  /** Says what the value must be; does not repeat the path. */
  message: string
  code: ProblemCode
}

export function unknownField(path: Path, suggestion: string | undefined): Problem {
  return {
    path,
    message: `is an unknown field${suggestion ? `; did you mean ${suggestion}?` : ''}`,
    code: 'UnknownField',
  }
}

/** A mapping, as opposed to a list, a scalar or nothing. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
