import { DEFAULTS } from '../../crds/defaults.ts'
import type { Path } from '../../crds/path.ts'
import { parseDuration } from '../../crds/primitives.ts'
import type { RateLimitPolicySpec } from '../../crds/rate-limit-policy.ts'
import type { PolicyConfig } from '../../dataplane/config/snapshot.ts'
import { type Findings, identityOf } from './findings.ts'
import { type Known, objectId, whyMissing } from './known.ts'

type Policy = Findings<'RateLimitPolicy'>
type TargetKind = PolicyConfig['targets'][number]['kind']

export interface TargetLookup {
  /** UID of the rendered objects, by `objectId`. */
  rendered: ReadonlyMap<string, string>
  known: Known
}

/** Renders a valid policy with the targets that exist. */
export function renderPolicy(policy: Policy, spec: RateLimitPolicySpec, lookup: TargetLookup): PolicyConfig {
  const targets = spec.targetRefs.flatMap(({ kind, name }, index) => {
    const uid = find(policy, kind, name, lookup, ['spec', 'targetRefs', index])
    return uid === undefined ? [] : [{ kind, name, uid }]
  })
  const limits = spec.limits.map(({ name, by, requests, per }) => ({
    name,
    by: by ? by.map(({ type }) => type) : [...DEFAULTS.rateLimitPolicy.by],
    requests,
    perMs: parseDuration(per),
  }))
  return { ...identityOf(policy), targets, limits }
}

/**
 * The last rendering of a policy whose spec is invalid now. Targets that are gone keep their UID: once they are back,
 * nothing would tell that the limits applied to them.
 */
export function keepPolicy(policy: Policy, published: PolicyConfig, lookup: TargetLookup): PolicyConfig {
  const targets = published.targets.map(({ kind, name, uid }) => ({
    kind,
    name,
    uid: find(policy, kind, name, lookup) ?? uid,
  }))
  return { ...published, targets }
}

function find(policy: Policy, kind: TargetKind, name: string, { rendered, known }: TargetLookup, path?: Path) {
  const id = objectId(kind, policy.namespace, name)
  const uid = rendered.get(id)
  if (uid === undefined) {
    policy.unresolved.push({ reason: 'TargetNotFound', message: whyMissing(id, known), ...(path && { path }) })
  }
  return uid
}
