import { DEFAULTS } from '../../crds/defaults.ts'
import type { LLMRouteSpec } from '../../crds/llm-route.ts'
import type { Path } from '../../crds/path.ts'
import { parseDuration } from '../../crds/primitives.ts'
import type { BackendConfig, RouteConfig, TargetConfig } from '../../dataplane/config/snapshot.ts'
import { type Findings, identityOf } from './findings.ts'
import { type Known, objectId, whyMissing } from './known.ts'

type Route = Findings<'LLMRoute'>

const ABSENT = DEFAULTS.llmRoute

/** What there is to know of the backends that a route names. */
export interface BackendLookup {
  /** Rendered backends, by `objectId`. */
  rendered: ReadonlyMap<string, BackendConfig>
  known: Known
}

/** Renders a valid route. */
export function renderRoute(route: Route, spec: LLMRouteSpec, backends: BackendLookup): RouteConfig {
  const { namespace } = route
  const retry = { ...ABSENT.retry, ...spec.retry }
  const backoff = { ...ABSENT.retry.backoff, ...spec.retry?.backoff }
  const targets = spec.backends.map((backend, index) => {
    const target: TargetConfig = {
      namespace: backend.namespace ?? namespace,
      name: backend.name,
      priority: backend.priority ?? ABSENT.priority,
      weight: backend.weight ?? ABSENT.weight,
      ...(backend.model !== undefined && { model: backend.model }),
    }
    return bind(route, target, backends, ['spec', 'backends', index])
  })
  return {
    ...identityOf(route),
    createdAt: route.createdAt,
    match: { models: spec.match.models, headers: spec.match.headers ?? [] },
    access: {
      namespaces: [...new Set([namespace, ...(spec.access?.namespaces ?? [])])],
      ...(spec.access?.tenants && { tenants: [...new Set(spec.access.tenants)] }),
    },
    targets,
    retry: {
      attempts: retry.attempts,
      failures: [...retry.failures],
      codes: [...retry.codes],
      backoff: { baseMs: parseDuration(backoff.base), maxMs: parseDuration(backoff.max) },
    },
    timeoutMs: parseDuration(spec.timeout ?? ABSENT.timeout),
    maxWaitMs: parseDuration(spec.maxWait ?? ABSENT.maxWait),
  }
}

/** The last rendering of a route whose spec is invalid now; its backends are looked up anew. */
export function keepRoute(route: Route, published: RouteConfig, backends: BackendLookup): RouteConfig {
  const targets = published.targets.map(({ uid: _, ...target }) => bind(route, target, backends))
  return { ...published, createdAt: route.createdAt, targets }
}

/** Gives a target the UID of its backend, or says why it stays without: then its share of the traffic fails. */
function bind(route: Route, target: TargetConfig, { rendered, known }: BackendLookup, path?: Path): TargetConfig {
  const id = objectId('ModelBackend', target.namespace, target.name)
  const backend = rendered.get(id)
  const report = (reason: string, message: string) => {
    route.unresolved.push({ reason, message, ...(path && { path }) })
    return target
  }
  if (!backend) return report('BackendNotFound', whyMissing(id, known))
  const { namespace } = route
  if (target.namespace !== namespace && !backend.allowedNamespaces.includes(namespace)) {
    return report('RefNotPermitted', `${id} does not allow namespace ${namespace}; add it to allowedNamespaces there`)
  }
  return { ...target, uid: backend.uid }
}
