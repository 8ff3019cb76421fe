import { KIND_NAMES } from '../../crds/kinds.ts'
import type { BackendConfig, RouteConfig, TenantConfig } from '../../dataplane/config/snapshot.ts'
import { accept } from './accept.ts'
import { keepBackend, renderBackend } from './backends.ts'
import { describeCell, isOwn } from './cells.ts'
import { findConflicts, type Losses, type LostCell } from './conflicts.ts'
import { type Findings, isolated } from './findings.ts'
import { knownObjects, objectId } from './known.ts'
import { keepPolicy, renderPolicy, type TargetLookup } from './policies.ts'
import { type BackendLookup, keepRoute, renderRoute } from './routes.ts'
import { Secrets } from './secrets.ts'
import { FALLBACK_TENANT, renderTenants } from './tenants.ts'
import type { Published, Resources, TranslateOptions, Translation } from './types.ts'
import { verdictOf } from './verdict.ts'

/**
 * Renders the objects of one gateway into the content of a snapshot and says of each what was found. Pure: no I/O, no
 * clock; the order of the input does not matter. One object's faults stay its own: it goes on as in `published`, the
 * content that gateways have now, or it is left out.
 */
export function translate(
  resources: Resources,
  published: Published | undefined,
  options: TranslateOptions,
): Translation {
  const accepted = accept(resources.objects, options.gateway)
  const { objects } = accepted
  const known = knownObjects(accepted)
  const secrets = new Secrets(resources.secrets)

  const backends = renderEach(
    objects.ModelBackend,
    published?.backends,
    (backend, spec, last) => renderBackend(backend, spec, last, secrets, options.now),
    (backend, last) => keepBackend(backend, last, secrets, options.now),
  )
  const tenants = renderTenants(objects.LLMTenant, byUid(published?.tenants), secrets, options)
  const routes = renderRoutes(objects.LLMRoute, published?.routes, tenants, {
    rendered: new Map(backends.map(backend => [objectId('ModelBackend', backend.namespace, backend.name), backend])),
    known,
  })
  const lookup: TargetLookup = { rendered: uidsOf(backends, routes, tenants), known }
  const policies = renderEach(
    objects.RateLimitPolicy,
    published?.policies,
    (policy, spec) => renderPolicy(policy, spec, lookup),
    (policy, last) => keepPolicy(policy, last, lookup),
  )

  return {
    content: { backends, routes, tenants, policies },
    verdicts: KIND_NAMES.flatMap(kind => objects[kind].map(verdictOf)),
  }
}

/** Renders every valid object afresh, and every other as it was published, if it was. */
function renderEach<F extends Findings, C extends { uid: string; generation: number }>(
  all: readonly F[],
  published: readonly C[] | undefined,
  render: (object: F, spec: NonNullable<F['spec']>, last: C | undefined) => C,
  keep: (object: F, last: C) => C,
): C[] {
  const lastByUid = byUid(published)
  return all.flatMap(object => {
    const last = lastByUid.get(object.uid)
    const { spec } = object
    const fresh = spec && isolated(object, () => render(object, spec, last))
    const config = fresh ?? (last && isolated(object, () => keep(object, last)))
    if (config) object.served = config.generation
    return config ? [config] : []
  })
}

/** Routes in the order of their names, without those that lose everything to others. */
function renderRoutes(
  routes: readonly Findings<'LLMRoute'>[],
  published: readonly RouteConfig[] | undefined,
  tenants: readonly TenantConfig[],
  backends: BackendLookup,
): RouteConfig[] {
  const rendered = renderEach(
    routes,
    published,
    (route, spec) => renderRoute(route, spec, backends),
    (route, last) => keepRoute(route, last, backends),
  )
  const everywhere = tenants.some(tenant => tenant.allNamespaces)
  const conflicts = findConflicts(rendered, everywhere)
  const findings = new Map(routes.map(route => [route.uid, route]))
  return rendered.filter(route => {
    const losses = conflicts.get(route.uid)
    return !losses || reportLosses(findings.get(route.uid)!, route, losses)
  })
}

/** Puts a route's losses into its findings; false when nothing is left of it. */
function reportLosses(findings: Findings<'LLMRoute'>, route: RouteConfig, losses: Losses): boolean {
  const lostAll = losses.lost === losses.cells
  const list = lostAll ? findings.conflicted : findings.partial
  for (const cell of losses.examples) {
    const index = findings.spec ? route.match.models.indexOf(cell.pattern) : -1
    const path = index >= 0 ? { path: ['spec', 'match', 'models', index] } : {}
    list.push({ reason: 'Conflicted', message: describeLoss(route, cell), ...path })
  }
  const more = losses.lost - losses.examples.length
  if (more > 0) list.push({ reason: 'Conflicted', message: `${more} more in the same way` })
  if (lostAll) delete findings.served
  return !lostAll
}

function describeLoss(route: RouteConfig, cell: LostCell): string {
  const { winner, view } = cell
  const why =
    isOwn(winner, view) && !isOwn(route, view)
      ? 'which belongs to that namespace'
      : winner.createdAt < route.createdAt
        ? 'which is older'
        : 'whose name comes first'
  return `${describeCell(route, cell)} is taken by LLMRoute ${winner.namespace}/${winner.name}, ${why}`
}

function byUid<C extends { uid: string }>(configs: readonly C[] | undefined): Map<string, C> {
  return new Map(configs?.map(config => [config.uid, config]))
}

function uidsOf(
  backends: readonly BackendConfig[],
  routes: readonly RouteConfig[],
  tenants: readonly TenantConfig[],
): Map<string, string> {
  return new Map([
    ...backends.map(({ namespace, name, uid }) => [objectId('ModelBackend', namespace, name), uid] as const),
    ...routes.map(({ namespace, name, uid }) => [objectId('LLMRoute', namespace, name), uid] as const),
    ...tenants
      .filter(tenant => tenant.uid !== FALLBACK_TENANT.uid)
      .map(({ namespace, name, uid }) => [objectId('LLMTenant', namespace, name), uid] as const),
  ])
}
