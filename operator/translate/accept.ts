import { DEFAULTS } from '../../crds/defaults.ts'
import { DRAIN_ANNOTATION } from '../../crds/group.ts'
import { KIND_NAMES, type KindName } from '../../crds/kinds.ts'
import { formatPath } from '../../crds/path.ts'
import { isObject } from '../../crds/problem.ts'
import { validateSpec } from '../../crds/validate.ts'
import { type Findings, isolated } from './findings.ts'
import { objectId } from './known.ts'
import { byName } from './order.ts'
import type { Resource } from './types.ts'

/** The objects of one gateway, each kind in the order of namespace and name. */
export interface Accepted {
  objects: { [K in KindName]: Findings<K>[] }
  /** Gateway of the objects that take no part, by `objectId`. */
  elsewhere: Map<string, string>
}

/** Sorts out the objects of `gateway` and checks the spec of each. */
export function accept(resources: readonly Resource[], gateway: string): Accepted {
  const objects: Accepted['objects'] = { ModelBackend: [], LLMRoute: [], RateLimitPolicy: [], LLMTenant: [] }
  const elsewhere = new Map<string, string>()
  for (const resource of resources) {
    const findings = examine(resource, resource.kind)
    const owner = isolated(findings, () => gatewayOf(findings.raw, gateway))
    if (owner !== undefined && owner !== gateway) {
      elsewhere.set(objectId(findings.kind, findings.namespace, findings.name), owner)
      continue
    }
    if (owner !== undefined) isolated(findings, () => check(findings))
    const list: Findings[] = objects[findings.kind]
    list.push(findings)
  }
  for (const kind of KIND_NAMES) objects[kind].sort(byName)
  return { objects, elsewhere }
}

function examine<K extends KindName>({ metadata, spec }: Resource, kind: K): Findings<K> {
  const { namespace, name, uid, generation, creationTimestamp, annotations } = metadata
  const created = Date.parse(creationTimestamp ?? '')
  return {
    kind,
    namespace,
    name,
    uid,
    generation,
    createdAt: Number.isNaN(created) ? 0 : Math.floor(created / 1000),
    drain: Object.hasOwn(annotations ?? {}, DRAIN_ANNOTATION),
    raw: spec,
    invalid: [],
    conflicted: [],
    unresolved: [],
    partial: [],
  }
}

/** A gateway that is no text belongs to nobody, so every fleet takes part and reports what is wrong. */
function gatewayOf(spec: unknown, asking: string): string {
  if (!isObject(spec) || spec.gateway === undefined || spec.gateway === null) return DEFAULTS.gateway
  return typeof spec.gateway === 'string' ? spec.gateway : asking
}

function check<K extends KindName>(findings: Findings<K>): void {
  const { spec, problems } = validateSpec(findings.kind, findings.raw)
  if (spec !== undefined) findings.spec = spec
  for (const { code, path, message } of problems) {
    findings.invalid.push({ reason: code, message: `${formatPath(path)} ${message}`, path })
  }
}
