import { label, objectName, secretKey } from '../../crds/primitives.ts'
import { isObject } from '../../crds/problem.ts'
import type { Secret } from '../translate/types.ts'
import { expandVariables } from './environment.ts'
import type { SourceDocument } from './parse.ts'
import type { Path } from './positions.ts'
import type { FileProblem } from './problem.ts'

const FIELDS = ['apiVersion', 'kind', 'metadata', 'type', 'immutable', 'data', 'stringData', 'status']
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Reads a `kind: Secret` document. Variables are replaced in its values only; a Secret in a file needs no label, for
 * whoever writes the file has chosen it. Problems never repeat a value. `identity` is
 * known even when a value is wrong.
 */
export function readSecret(
  document: SourceDocument,
  environment: Record<string, string | undefined>,
): { identity?: { namespace: string; name: string }; secret?: Secret; problems: FileProblem[] } {
  const problems: FileProblem[] = []
  const report = (path: Path, message: string, spot?: 'key' | 'value') => {
    problems.push({ ...document.at(path, spot), message })
  }
  const { value } = document

  if (value.apiVersion !== 'v1') report(['apiVersion'], 'a Secret has apiVersion: v1')
  for (const field of Object.keys(value)) {
    if (!FIELDS.includes(field)) report([field], `unknown field ${JSON.stringify(field)} in a Secret`, 'key')
  }
  const metadata = isObject(value.metadata) ? value.metadata : {}
  const name = objectName.safeParse(metadata.name)
  const namespace = label.safeParse(metadata.namespace ?? 'default')
  if (!name.success) report(['metadata', 'name'], 'metadata.name must be a name in lower case, such as openai')
  if (!namespace.success) report(['metadata', 'namespace'], 'metadata.namespace must be a name in lower case')

  const data: Record<string, string> = {}
  for (const field of ['data', 'stringData'] as const) {
    const entries = value[field] ?? {}
    if (!isObject(entries)) {
      report([field], `${field} must be an object of keys and values`)
      continue
    }
    for (const [key, entry] of Object.entries(entries)) {
      const path = [field, key]
      if (!secretKey.safeParse(key).success) {
        report(path, `${JSON.stringify(key)} is no key of a Secret: letters, digits, "-", "_" and "." only`, 'key')
      } else if (typeof entry !== 'string') {
        report(path, `${field}.${key} must be text; put it in quotes`)
      } else {
        try {
          const text = expandVariables(entry, environment)
          // Set as an own property whatever its name; `stringData` wins, as in Kubernetes.
          Object.defineProperty(data, key, {
            value: field === 'data' ? decode(text) : text,
            enumerable: true,
            configurable: true,
            writable: true,
          })
        } catch (error) {
          report(path, `${field}.${key}: ${(error as Error).message}`)
        }
      }
    }
  }
  if (!name.success || !namespace.success) return { problems }
  const identity = { namespace: namespace.data, name: name.data }
  return problems.length > 0
    ? { identity, problems }
    : { identity, secret: { ...identity, labelled: true, data }, problems }
}

function decode(text: string): string {
  const packed = text.replace(/\s/g, '')
  if (!BASE64.test(packed) || packed.length % 4 !== 0) {
    throw new Error('not valid base64; write plain text under stringData instead')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(packed, 'base64'))
  } catch {
    throw new Error('the decoded value is not UTF-8 text')
  }
}
