import { isDeepStrictEqual } from 'node:util'
import type { KubeClient } from './http.ts'
import type { KubeObject } from './object.ts'
import { apiVersionOf, type Resource } from './resource.ts'

/** A condition as it is wanted; when it last changed is worked out. */
export interface WantedCondition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  observedGeneration?: number
}

export interface Condition extends WantedCondition {
  /** RFC 3339, whole seconds. */
  lastTransitionTime: string
}

export interface Status {
  conditions?: Condition[]
}

type AnyStatus = Status & Record<string, unknown>

export interface WantedStatus {
  conditions: WantedCondition[]
  observedGeneration?: number
}

export interface StatusWriteOptions<T extends KubeObject> {
  client: KubeClient
  resource: Resource<T>
  /** As last seen: what its status is compared with. */
  object: T & { status?: object }
  status: WantedStatus
  /** Owns what is written. */
  fieldManager: string
  /** The condition types that are ours; others are left alone. */
  ours: readonly string[]
  now?: Date
}

/**
 * Brings the status of an object to what is wanted, by server-side apply. Nothing is sent when it is there already, so
 * that a write does not cause the next. A condition that is no longer wanted goes, if we wrote it. Returns whether
 * something was written. Fails with a conflict when the object was deleted and made anew since.
 */
export async function writeStatus<T extends KubeObject>(options: StatusWriteOptions<T>): Promise<boolean> {
  const { client, resource, object, status, fieldManager, ours, now = new Date() } = options
  const current: AnyStatus = object.status ? { ...object.status } : {}
  const conditions = withTransitionTimes(current.conditions ?? [], status.conditions, now)
  // As JSON: a field that is undefined is one that is absent.
  const wanted = JSON.parse(JSON.stringify({ ...status, conditions })) as AnyStatus
  if (isThere(current, wanted, ours)) return false

  const { namespace, name, uid } = object.metadata
  const identity = { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) }
  const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: identity, status: wanted }
  await client.apply(resource, body, { fieldManager, force: true, subresource: 'status' })
  return true
}

/** `lastTransitionTime` moves only when the status of a condition does, not with its reason or message. */
export function withTransitionTimes(
  current: readonly Condition[],
  wanted: readonly WantedCondition[],
  now: Date,
): Condition[] {
  return wanted.map(condition => {
    const before = current.find(({ type }) => type === condition.type)
    const kept = before?.status === condition.status ? before.lastTransitionTime : undefined
    return { ...condition, lastTransitionTime: kept ?? wholeSeconds(now) }
  })
}

function isThere(current: AnyStatus, wanted: AnyStatus, ours: readonly string[]): boolean {
  const conditionsOf = ({ conditions }: Status) =>
    (conditions ?? []).filter(({ type }) => ours.includes(type)).sort((a, b) => (a.type < b.type ? -1 : 1))
  if (!isDeepStrictEqual(conditionsOf(current), conditionsOf(wanted))) return false
  return Object.keys(wanted).every(key => key === 'conditions' || isDeepStrictEqual(current[key], wanted[key]))
}

function wholeSeconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z')
}
