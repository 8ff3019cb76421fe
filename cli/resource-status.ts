import { KIND_NAMES, type KindName } from '../crds/kinds.ts'
import { objectKey } from '../operator/files/ledger.ts'
import { formatPlace, formatProblem } from '../operator/files/problem.ts'
import type { FileObject } from '../operator/files/source.ts'
import type { Content, Verdict } from '../operator/translate/types.ts'
import type { Configuration } from './configuration.ts'

export interface Condition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
}

/** One resource in `/status` of a standalone gateway. */
export interface ResourceStatus {
  kind: KindName
  namespace: string
  name: string
  generation: number
  servedGeneration?: number
  conditions: Condition[]
  /** `FILE:LINE:COLUMN` of its document. */
  file: string
  /** What is in service, defaults filled in, without anything secret. */
  effective?: Record<string, unknown>
}

/** What a gateway did not take, from its own status. */
export interface Refusal {
  uid: string
  reason: string
  message: string
}

/**
 * Every resource of the files with its conditions. The gateway is in this process and applies at once, so that
 * `Programmed` follows from what was published and what the gateway refused.
 */
export function resourceStatuses(configuration: Configuration, refused: readonly Refusal[]): ResourceStatus[] {
  const verdicts = new Map(configuration.verdicts.map(each => [objectKey(each.kind, each.namespace, each.name), each]))
  const refusals = new Map(refused.map(refusal => [refusal.uid, refusal]))
  const statuses: ResourceStatus[] = []
  for (const [key, object] of configuration.loaded.objects) {
    if (!object.identity || object.kind === 'Secret') continue
    const { uid, generation } = object.identity
    const verdict = verdicts.get(key)
    const effective = effectiveOf(configuration.content, uid)
    const served = verdict?.servedGeneration
    const own = object.problems.length > 0 ? invalid(object, verdict) : (verdict?.conditions ?? [])
    const programmed = programmedOf(served, generation, refusals.get(uid))
    statuses.push({
      kind: object.kind,
      namespace: object.namespace,
      name: object.name,
      generation,
      ...(served !== undefined && { servedGeneration: served }),
      conditions: [readyOf([...own, programmed]), ...own, programmed],
      file: formatPlace(object.at([])),
      ...(effective && { effective }),
    })
  }
  const order = (status: ResourceStatus) => KIND_NAMES.indexOf(status.kind)
  return statuses.sort((a, b) => order(a) - order(b))
}

/** The newest version is not even translated; the other conditions speak of the last good one. */
function invalid(object: FileObject, verdict: Verdict | undefined): Condition[] {
  const message = object.problems.map(formatProblem).join('; ')
  const others = (verdict?.conditions ?? []).filter(condition => condition.type !== 'Accepted')
  return [{ type: 'Accepted', status: 'False', reason: 'Invalid', message }, ...others]
}

function programmedOf(served: number | undefined, generation: number, refusal: Refusal | undefined): Condition {
  const condition = { type: 'Programmed', status: 'False' as const }
  if (refusal) {
    const reason = refusal.reason === 'UnsupportedByGateway' ? refusal.reason : 'Rejected'
    return { ...condition, reason, message: refusal.message }
  }
  if (served === generation) {
    return { ...condition, status: 'True', reason: 'Programmed', message: 'The gateway has applied it.' }
  }
  const message = served === undefined ? 'Nothing of it is in service.' : `Generation ${served} is still in service.`
  return { ...condition, reason: 'Pending', message }
}

function readyOf(conditions: Condition[]): Condition {
  const wrong = ['Accepted', 'ResolvedRefs', 'Programmed']
    .map(type => conditions.find(condition => condition.type === type))
    .find(condition => condition && condition.status !== 'True')
  if (!wrong) return { type: 'Ready', status: 'True', reason: 'Ready', message: 'It serves as written.' }
  return { type: 'Ready', status: 'False', reason: wrong.reason, message: wrong.message }
}

function effectiveOf(content: Content, uid: string): Record<string, unknown> | undefined {
  const backend = content.backends.find(each => each.uid === uid)
  if (backend) {
    const { headers, credentials, ...rest } = backend
    return {
      ...rest,
      // A header may well be a key of some proxy in front of the provider.
      headers: headers.map(({ name }) => ({ name })),
      credentials: credentials.map(({ name, weight }) => ({ name, weight })),
    }
  }
  const tenant = content.tenants.find(each => each.uid === uid)
  if (tenant) return { ...tenant, keys: tenant.keys.map(({ name }) => ({ name })) }
  return content.routes.find(each => each.uid === uid) ?? content.policies.find(each => each.uid === uid)
}
