import { KIND_NAMES, type KindName } from '../../crds/kinds.ts'
import { formatPath } from '../../crds/path.ts'
import { nearest } from '../../crds/spelling.ts'
import { type IdentifiedObject, validateObject } from '../../crds/validate.ts'
import type { Secret } from '../translate/types.ts'
import type { SourceDocument } from './parse.ts'
import type { FileProblem } from './problem.ts'
import { readSecret } from './secret.ts'

export type FileKind = KindName | 'Secret'

/** What a document says, once it is known which object it is. */
export interface Entry {
  kind: FileKind
  namespace: string
  name: string
  document: SourceDocument
  /** Present for the kinds of Weir; its spec is only sound when there are no problems. */
  object?: IdentifiedObject
  /** Present for a Secret without problems. */
  secret?: Secret
  problems: FileProblem[]
}

/** Checks one document. Without an entry it cannot be told which object is meant. */
export function readDocument(
  document: SourceDocument,
  environment: Record<string, string | undefined>,
): { entry?: Entry; problems: FileProblem[] } {
  const { value } = document
  if (value.kind === 'Secret') return readSecretDocument(document, environment)
  if (!KIND_NAMES.some(kind => kind === value.kind)) {
    return { problems: [{ ...document.at(['kind']), message: unknownKind(value.kind) }] }
  }

  const { object, problems: found } = validateObject(value)
  const namespace = object?.metadata.namespace ?? 'default'
  const subject = object ? `${object.kind} ${namespace}/${object.metadata.name}: ` : ''
  const problems = found.map(problem => ({
    ...document.at(problem.path, problem.code === 'UnknownField' ? 'key' : 'value'),
    message: `${subject}${formatPath(problem.path)} ${problem.message}`,
  }))
  if (!object) return { problems }
  return {
    entry: { kind: object.kind, namespace, name: object.metadata.name, document, object, problems },
    problems,
  }
}

function readSecretDocument(
  document: SourceDocument,
  environment: Record<string, string | undefined>,
): { entry?: Entry; problems: FileProblem[] } {
  const { identity, secret, problems: found } = readSecret(document, environment)
  if (!identity) return { problems: found }
  const problems = found.map(problem => ({
    ...problem,
    message: `Secret ${identity.namespace}/${identity.name}: ${problem.message}`,
  }))
  return { entry: { kind: 'Secret', ...identity, document, ...(secret && { secret }), problems }, problems }
}

function unknownKind(kind: unknown): string {
  const known = [...KIND_NAMES, 'Secret', 'List']
  const choice = `kind must be one of ${known.join(', ')}`
  if (typeof kind !== 'string') return choice
  const meant = nearest(kind, known)
  return `${choice}, is ${JSON.stringify(kind.slice(0, 60))}${meant ? `; did you mean ${meant}?` : ''}`
}
