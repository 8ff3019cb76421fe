import type { RouteConfig } from '../../dataplane/config/snapshot.ts'
import { type Cell, headerKey, isOwn, tenantsOf, viewsOf } from './cells.ts'
import { byAge } from './order.ts'
import { Shadow } from './shadow.ts'

export interface LostCell extends Cell {
  winner: RouteConfig
}

/** What a route loses to others. */
export interface Losses {
  /** The first few of the lost cells, in the order of the route. */
  examples: LostCell[]
  lost: number
  /** How many cells the route has in all. */
  cells: number
}

const MAX_EXAMPLES = 4

/** The cells that differ in nothing but the tenant. */
interface Group {
  claims: number
  /** By tenant; filled only where several routes claim the group. */
  winners: Map<string | null, RouteConfig>
}

/**
 * What each route loses, by UID; routes that lose nothing are left out. A cell has one winner: a route of the namespace
 * itself before any other, then the oldest. Tenants are looked at one by one only where several routes meet, so that
 * many routes cost little more than reading them.
 */
export function findConflicts(routes: readonly RouteConfig[], everywhere: boolean): Map<string, Losses> {
  const oldestFirst = [...routes].sort(byAge)
  const groups = new Map<string, Group>()
  for (const route of oldestFirst) {
    for (const { key } of placesOf(route, everywhere)) {
      const group = groups.get(key)
      if (group) group.claims++
      else groups.set(key, { claims: 1, winners: new Map() })
    }
  }
  for (const route of oldestFirst) {
    for (const { view, key } of placesOf(route, everywhere)) {
      const { claims, winners } = groups.get(key)!
      if (claims > 1) for (const tenant of tenantsOf(route)) compete(winners, tenant, route, view)
    }
  }

  const shadows = everywhere ? new Map<string, Shadow>() : shadowsOf(oldestFirst)
  const conflicts = new Map<string, Losses>()
  for (const route of oldestFirst) {
    const losses = lossesOf(route, everywhere, groups, shadows)
    if (losses.lost > 0) conflicts.set(route.uid, losses)
  }
  return conflicts
}

function compete(winners: Group['winners'], tenant: string | null, route: RouteConfig, view: string): void {
  const first = winners.get(tenant)
  if (!first || (isOwn(route, view) && !isOwn(first, view))) winners.set(tenant, route)
}

function lossesOf(
  route: RouteConfig,
  everywhere: boolean,
  groups: ReadonlyMap<string, Group>,
  shadows: ReadonlyMap<string, Shadow>,
): Losses {
  const losses: Losses = { examples: [], lost: 0, cells: 0 }
  const tenants = tenantsOf(route)
  for (const { view, pattern, key } of placesOf(route, everywhere)) {
    losses.cells += tenants.length
    const { claims, winners } = groups.get(key)!
    const shadow = isOwn(route, view) ? undefined : shadows.get(view)
    if (claims === 1 && !shadow) continue
    for (const tenant of tenants) {
      const winner = shadow?.covering(route, pattern, tenant) ?? winners.get(tenant)
      if (!winner || winner.uid === route.uid) continue
      losses.lost++
      if (losses.examples.length < MAX_EXAMPLES) losses.examples.push({ view, tenant, pattern, winner })
    }
  }
  return losses
}

function* placesOf(route: RouteConfig, everywhere: boolean): Generator<{ view: string; pattern: string; key: string }> {
  const headers = headerKey(route)
  for (const pattern of route.match.models) {
    for (const view of viewsOf(route, everywhere)) {
      // Neither namespaces nor patterns have spaces.
      yield { view, pattern, key: `${view} ${pattern} ${headers}` }
    }
  }
}

function shadowsOf(routes: readonly RouteConfig[]): Map<string, Shadow> {
  const byNamespace = Map.groupBy(routes, route => route.namespace)
  return new Map([...byNamespace].map(([namespace, own]) => [namespace, new Shadow(own)]))
}
