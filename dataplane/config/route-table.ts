import type { IncomingHttpHeaders } from 'node:http'
import type { Backend } from '../backends/backend.ts'
import { compilePattern, type ModelPattern } from './glob.ts'
import type { RouteConfig, TargetConfig, TenantConfig } from './snapshot.ts'

/** One backend that a route may send to. `backend` is null where it does not exist or may not be used. */
export interface Target {
  config: TargetConfig
  backend: Backend | null
}

/** A route as the request path uses it. */
export interface Route {
  config: RouteConfig
  id: string
  headers: { name: string; value: string }[]
  targets: Target[]
  /** Every target replaces the model's name, so the name that a client invents cannot tell budgets apart. */
  renamesAll: boolean
  /** Orders routes of the same age by namespace, then name, by code unit. */
  sortKey: string
}

/** A route as one tenant sees it through one of its model patterns. */
interface Entry {
  route: Route
  pattern: ModelPattern
  /** 0 in the tenant's own namespace, 1 elsewhere: routes of others never outrank own ones. */
  tier: number
  namesTenant: boolean
}

export interface Match {
  route: Route
  pattern: string
}

/** Most model names whose entries are remembered; clients may invent any number of names. */
const MAX_REMEMBERED = 1024

/**
 * What one tenant may use, in the order of precedence: own namespace, exact name, longest literal beginning, tenant
 * named in `access`, more header matches, oldest, first by namespace and name.
 */
export class RouteTable {
  readonly #exact = new Map<string, Entry[]>()
  readonly #patterns: Entry[] = []
  #remembered = new Map<string, Entry[]>()

  constructor(routes: Iterable<Route>, tenant: TenantConfig) {
    for (const route of routes) {
      if (!isVisible(route.config, tenant)) continue
      const tier = route.config.namespace === tenant.namespace || tenant.allNamespaces ? 0 : 1
      const namesTenant = route.config.access.tenants !== undefined
      for (const text of route.config.match.models) {
        const entry = { route, pattern: compilePattern(text), tier, namesTenant }
        if (!entry.pattern.exact) this.#patterns.push(entry)
        else if (this.#exact.has(text)) this.#exact.get(text)!.push(entry)
        else this.#exact.set(text, [entry])
      }
    }
    this.#patterns.sort(byPrecedence)
    for (const entries of this.#exact.values()) entries.sort(byPrecedence)
  }

  find(model: string, headers: IncomingHttpHeaders): Match | null {
    for (const entry of this.#entries(model)) {
      if (entry.route.headers.every(({ name, value }) => headers[name] === value)) {
        return { route: entry.route, pattern: entry.pattern.text }
      }
    }
    return null
  }

  /** Exact names, in alphabetical order. */
  names(): string[] {
    return [...this.#exact.keys()].sort()
  }

  /** Names and patterns that may be used, for error messages. */
  offers(): string[] {
    return [...this.names(), ...new Set(this.#patterns.map(entry => entry.pattern.text))]
  }

  /** The route that a plain request for an exact name takes first; for listings. */
  first(model: string): Route | null {
    return this.#entries(model)[0]?.route ?? null
  }

  #entries(model: string): Entry[] {
    let entries = this.#remembered.get(model)
    if (!entries) {
      entries = [...(this.#exact.get(model) ?? []), ...this.#patterns.filter(entry => entry.pattern.matches(model))]
      // Tiers come first: an own pattern goes before an exact name from elsewhere.
      entries.sort(byPrecedence)
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered = new Map()
      this.#remembered.set(model, entries)
    }
    return entries
  }
}

function isVisible(route: RouteConfig, tenant: TenantConfig): boolean {
  if (!tenant.allNamespaces && !route.access.namespaces.includes(tenant.namespace)) return false
  return route.access.tenants === undefined || route.access.tenants.includes(tenant.name)
}

function byPrecedence(a: Entry, b: Entry): number {
  return (
    a.tier - b.tier ||
    Number(b.pattern.exact) - Number(a.pattern.exact) ||
    b.pattern.literalPrefix - a.pattern.literalPrefix ||
    Number(b.namesTenant) - Number(a.namesTenant) ||
    b.route.headers.length - a.route.headers.length ||
    a.route.config.createdAt - b.route.config.createdAt ||
    (a.route.sortKey < b.route.sortKey ? -1 : 1)
  )
}
