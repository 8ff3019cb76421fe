import type { RouteConfig } from '../../dataplane/config/snapshot.ts'

/** Where the routes of every namespace are one's own: the view of the tenant that stands in for none. */
export const EVERY_NAMESPACE = '*'

/**
 * What one route asks for, one combination at a time: requests of the tenants in `view` (all of them, or the one that
 * `tenant` names) for the models of `pattern` with the route's headers.
 */
export interface Cell {
  view: string
  tenant: string | null
  pattern: string
}

/** The namespaces whose tenants see a route, its own first. */
export function viewsOf(route: RouteConfig, everywhere: boolean): string[] {
  return everywhere ? [EVERY_NAMESPACE] : route.access.namespaces
}

/** The tenants that a route names; null stands for all of them. */
export function tenantsOf(route: RouteConfig): (string | null)[] {
  return route.access.tenants ?? [null]
}

/** Whether a route is among the first choice of the tenants in `view`: no route from elsewhere goes before it. */
export function isOwn(route: RouteConfig, view: string): boolean {
  return view === EVERY_NAMESPACE || route.namespace === view
}

/** The headers of a route in one form, whatever the order and the case of their names. */
export function headerKey(route: RouteConfig): string {
  return JSON.stringify(route.match.headers.map(({ name, value }) => [name.toLowerCase(), value]).sort())
}

/** `model gpt-4o with x-tier: gold, tenant a, namespace apps`; what goes without saying is left out. */
export function describeCell(route: RouteConfig, { view, tenant, pattern }: Cell): string {
  const headers = route.match.headers.map(({ name, value }) => `${name}: ${value}`).join(', ')
  return [
    `model ${pattern}${headers && ` with ${headers}`}`,
    ...(tenant === null ? [] : [`tenant ${tenant}`]),
    ...(isOwn(route, view) ? [] : [`namespace ${view}`]),
  ].join(', ')
}
