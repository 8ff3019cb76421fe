import type { Path } from './path.ts'
import { label, objectName } from './primitives.ts'
import { isObject, type Problem, unknownField } from './problem.ts'
import { nearest } from './spelling.ts'
import { whatItIs } from './wording.ts'

/** What is kept of a document's metadata. */
export interface ObjectMetadata {
  name: string
  namespace?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

const WRITTEN = ['name', 'namespace', 'labels', 'annotations']

/** Set by the API server or by controllers: ignored, so that what `kubectl get -o yaml` prints is a valid file. */
const SERVER_SET = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'ownerReferences',
  'finalizers',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
]

/** Checks a document's `metadata`; the result is present when nothing is wrong but unknown fields. */
export function validateMetadata(value: unknown): { metadata?: ObjectMetadata; problems: Problem[] } {
  const problem = (path: Path, message: string): Problem => ({ path: ['metadata', ...path], message, code: 'Metadata' })
  if (value === undefined) return { problems: [problem(['name'], 'is required')] }
  if (!isObject(value)) return { problems: [problem([], `must be an object, is ${whatItIs(value)}`)] }

  const wrong = [
    ...checkName(value.name).map(message => problem(['name'], message)),
    ...checkNamespace(value.namespace).map(message => problem(['namespace'], message)),
    ...checkTexts(value.labels).map(([path, message]) => problem(['labels', ...path], message)),
    ...checkTexts(value.annotations).map(([path, message]) => problem(['annotations', ...path], message)),
  ]
  const unknown = Object.keys(value)
    .filter(key => !WRITTEN.includes(key) && !SERVER_SET.includes(key))
    .map(key => unknownField(['metadata', key], nearest(key, WRITTEN)))
  const problems = [...unknown, ...wrong]
  if (wrong.length > 0) return { problems }

  const kept = Object.entries(value).filter(([key, entry]) => WRITTEN.includes(key) && !absent(entry))
  return { metadata: Object.fromEntries(kept) as unknown as ObjectMetadata, problems }
}

function checkName(value: unknown): string[] {
  if (value === undefined) return ['is required']
  return form(objectName.safeParse(value), value)
}

function checkNamespace(value: unknown): string[] {
  return absent(value) ? [] : form(label.safeParse(value), value)
}

function form(parsed: ReturnType<typeof label.safeParse>, value: unknown): string[] {
  if (parsed.success) return []
  if (typeof value !== 'string') return [`must be a string, is ${whatItIs(value)}`]
  if (value === '') return ['must not be empty']
  return [parsed.error.issues.find(issue => issue.code === 'invalid_format')?.message ?? 'is too long']
}

function checkTexts(value: unknown): [Path, string][] {
  if (absent(value)) return []
  if (!isObject(value)) return [[[], `must be an object, is ${whatItIs(value)}`]]
  return Object.entries(value)
    .filter(([, text]) => typeof text !== 'string')
    .map(([key, text]) => [[key], `must be a string, is ${whatItIs(text)}; put it in quotes`])
}

/** Null counts as absent in metadata, as it does for the API server. */
function absent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}
