import { isObject, isProblemCode } from '../crds/problem.ts'
import { objectKey } from '../operator/files/ledger.ts'
import type { FileProblem } from '../operator/files/problem.ts'
import type { FileObject, LoadedFiles } from '../operator/files/source.ts'
import { translate } from '../operator/translate/translate.ts'
import type { Content, Resource, Resources, Verdict, VerdictProblem } from '../operator/translate/types.ts'

export const EMPTY: Content = { backends: [], routes: [], tenants: [], policies: [] }

export interface ExamineOptions {
  /** What is in service now. */
  published: Content
  /** Serve everyone when there is no LLMTenant. */
  anonymousFallback: boolean
}

export interface Examination {
  content: Content
  verdicts: Verdict[]
  /** An object that does not work as it is written. */
  errors: FileProblem[]
  /** An object that works in part. */
  warnings: FileProblem[]
}

/** Translates what the files say, and puts what is wrong at its place in the files. */
export function examine(loaded: LoadedFiles, resources: Resources, options: ExamineOptions): Examination {
  const { content, verdicts } = translate(
    { ...resources, objects: resources.objects.filter(object => !isStillborn(object, loaded, options.published)) },
    options.published,
    {
      gateway: 'weir',
      anonymousNamespaces: '*',
      anonymousFallback: options.anonymousFallback,
      now: Date.now(),
    },
  )
  const errors = [...loaded.problems]
  const warnings = foreign(loaded, verdicts)
  for (const verdict of verdicts) {
    const object = loaded.objects.get(objectKey(verdict.kind, verdict.namespace, verdict.name))
    if (!object) continue
    const target = isBroken(verdict) ? errors : warnings
    for (const problem of verdict.problems) {
      if (isShown(problem, object) || isConsequence(problem, verdict, loaded)) continue
      target.push(placed(problem, verdict, object))
    }
  }
  return { content, verdicts, errors, warnings }
}

/** Objects that are meant for another gateway: in files, most likely a mistake. */
function foreign({ resources, objects }: LoadedFiles, verdicts: Verdict[]): FileProblem[] {
  const own = new Set(verdicts.map(verdict => verdict.uid))
  return resources.objects.flatMap(({ kind, metadata: { namespace, name, uid } }) => {
    const object = objects.get(objectKey(kind, namespace, name))
    if (own.has(uid) || !object) return []
    const place = object.at(['spec', 'gateway'])
    return [
      { ...place, message: `${kind} ${namespace}/${name}: left out, for it belongs to another gateway than weir` },
    ]
  })
}

/** Whether the object does not do what it says, as opposed to doing it in part. */
function isBroken(verdict: Verdict): boolean {
  return verdict.conditions.some(
    ({ type, status }) => (type === 'Accepted' || type === 'ResolvedRefs') && status === 'False',
  )
}

function placed(problem: VerdictProblem, verdict: Verdict, object: FileObject): FileProblem {
  const subject = `${verdict.kind} ${verdict.namespace}/${verdict.name}`
  return { ...object.at(problem.path ?? []), message: `${subject}: ${withoutLabels(problem.message)}` }
}

/** Whether the Secret that is missed stands in the files with a problem of its own, which is shown already. */
function isConsequence({ reason, path = [] }: VerdictProblem, verdict: Verdict, { resources, objects }: LoadedFiles) {
  if (reason !== 'SecretNotFound') return false
  const resource = resources.objects.find(object => object.metadata.uid === verdict.uid)
  const reference = path.reduce<unknown>(
    (value, step) => (isObject(value) || Array.isArray(value) ? value[step as never] : undefined),
    resource,
  )
  const name = isObject(reference) ? reference.name : undefined
  const secret = objects.get(objectKey('Secret', verdict.namespace, String(name)))
  return secret !== undefined && secret.problems.length > 0
}

/** A tenant that was never valid takes no part: its typing error must not lock everyone out. */
function isStillborn({ kind, metadata }: Resource, { objects }: LoadedFiles, published: Content): boolean {
  if (kind !== 'LLMTenant' || published.tenants.some(tenant => tenant.uid === metadata.uid)) return false
  return (objects.get(objectKey(kind, metadata.namespace, metadata.name))?.problems.length ?? 0) > 0
}

/** What validation says of a spec was said already when its document was read, with a closer place. */
function isShown({ reason }: VerdictProblem, { problems }: FileObject): boolean {
  return problems.length > 0 && isProblemCode(reason)
}

/** Secrets in files need no label, so that advice about labels would mislead. */
function withoutLabels(message: string): string {
  return message.replace(/, or if it exists label it: .*$/, '')
}
