import type { z } from 'zod'
import { API_VERSION } from './group.ts'
import { KIND_NAMES, KINDS, type KindName } from './kinds.ts'
import { type ObjectMetadata, validateMetadata } from './metadata.ts'
import { isObject, type Problem, unknownField } from './problem.ts'
import { nearest } from './spelling.ts'
import { unknownFields } from './unknown-fields.ts'
import { shown, whatItIs, wordIssue } from './wording.ts'

/** A document whose identity is known; its spec may still have problems. */
export interface IdentifiedObject {
  apiVersion: string
  kind: KindName
  metadata: ObjectMetadata
  spec: unknown
}

export type { Problem } from './problem.ts'

const TOP_LEVEL = ['apiVersion', 'kind', 'metadata', 'spec', 'status']

/**
 * Checks a whole document as a person writes it: strict, unlike the CRDs' schemas, and with every problem reported.
 * `status` and what the API server sets in `metadata` are ignored, so that the output of `kubectl get -o yaml` is
 * valid. `object` is present whenever `apiVersion`, `kind` and `metadata` are in order, even when the spec is not.
 */
export function validateObject(doc: unknown): { object?: IdentifiedObject; problems: Problem[] } {
  if (!isObject(doc)) {
    return { problems: [{ path: [], message: `must be an object, is ${whatItIs(doc)}`, code: 'WrongType' }] }
  }
  const problems: Problem[] = Object.keys(doc)
    .filter(key => !TOP_LEVEL.includes(key))
    .map(key => unknownField([key], nearest(key, TOP_LEVEL)))

  const apiVersion = checkApiVersion(doc.apiVersion)
  const kind = checkKind(doc.kind)
  const metadata = validateMetadata(doc.metadata)
  if (apiVersion) problems.push(apiVersion)
  if (typeof kind !== 'string') problems.push(kind)
  problems.push(...metadata.problems)
  if (typeof kind === 'string') problems.push(...validateSpec(kind, doc.spec).problems)

  if (apiVersion || typeof kind !== 'string' || !metadata.metadata) return { problems }
  return { object: { apiVersion: API_VERSION, kind, metadata: metadata.metadata, spec: doc.spec }, problems }
}

export type SpecOf<K extends KindName> = z.output<(typeof KINDS)[K]['spec']>

/**
 * Checks a spec by the schema of its kind, unknown fields included. `spec` is a copy that holds only what the schema
 * knows, present when there are no problems; paths begin with `spec`.
 */
export function validateSpec<K extends KindName>(kind: K, value: unknown): { spec?: SpecOf<K>; problems: Problem[] } {
  const schema: z.ZodType = KINDS[kind].spec
  const unknown = unknownFields(schema, value, ['spec']).map(field => unknownField(field.path, field.suggestion))
  const parsed = schema.safeParse(value)
  const problems = [...unknown, ...(parsed.success ? [] : worded(parsed.error.issues, value))]
  return parsed.success && problems.length === 0 ? { spec: parsed.data as SpecOf<K>, problems } : { problems }
}

function worded(issues: z.core.$ZodIssue[], root: unknown): Problem[] {
  const key = (issue: z.core.$ZodIssue) => JSON.stringify(issue.path)
  // Rules across fields also run on values whose form is wrong; what they say then is noise.
  const malformed = new Set(issues.filter(issue => issue.code !== 'custom').map(key))
  const said = new Set<string>()
  return issues.flatMap(issue => {
    // Beyond 2^53, said a second time with the field's own bound.
    if ('origin' in issue && issue.origin === 'int') return []
    const place = key(issue)
    if (issue.code === 'custom' ? malformed.has(place) : said.has(place)) return []
    said.add(place)
    const path = issue.path.filter(step => typeof step !== 'symbol')
    const value = path.reduce<unknown>((parent, step) => (parent as Record<string | number, unknown>)?.[step], root)
    return [{ path: ['spec', ...path], ...wordIssue(issue, value) }]
  })
}

function checkApiVersion(value: unknown): Problem | undefined {
  if (value === API_VERSION) return undefined
  const message =
    value === undefined
      ? `is required: ${API_VERSION}`
      : `must be ${API_VERSION}, is ${typeof value === 'string' ? shown(value) : whatItIs(value)}`
  return { path: ['apiVersion'], message, code: 'ApiVersion' }
}

function checkKind(value: unknown): KindName | Problem {
  const found = KIND_NAMES.find(name => name === value)
  if (found) return found
  const kinds = `one of ${KIND_NAMES.join(', ')}`
  const problem = (message: string): Problem => ({ path: ['kind'], message, code: 'UnknownKind' })
  if (value === undefined) return problem(`is required: ${kinds}`)
  if (typeof value !== 'string') return problem(`must be ${kinds}, is ${whatItIs(value)}`)
  const meant = nearest(value, KIND_NAMES)
  return problem(`must be ${kinds}, is ${shown(value)}${meant ? `; did you mean ${meant}?` : ''}`)
}
