import { hash, timingSafeEqual } from 'node:crypto'
import type { Backend } from '../backends/backend.ts'
import { type Route, RouteTable } from './route-table.ts'
import { FEATURES, type PolicyConfig, type RouteConfig, type Snapshot, type TenantConfig } from './snapshot.ts'

/** An object that this gateway cannot serve, as `/status` reports it. */
export interface Refused {
  kind: string
  namespace: string
  name: string
  uid: string
  reason: 'UnsupportedByGateway'
  message: string
}

/** A tenant with its route table, built at its first request after a reload. */
export interface Tenant {
  config: TenantConfig
  id: string
  readonly table: RouteTable
}

/** A snapshot in the form in which the request path looks things up. Immutable; swapped as a whole. */
export interface Config {
  epoch: string
  generation: number
  backends: ReadonlyMap<string, Backend>
  routes: readonly Route[]
  policies: readonly PolicyConfig[]
  refused: readonly Refused[]
  /** By UID of tenants, routes and backends: the features for whose lack their traffic is refused. */
  unsupported: ReadonlyMap<string, string>
  /** By UID. */
  tenants: ReadonlyMap<string, Tenant>
  anonymous: Tenant | null
  /** Whether any tenant has keys: then a key that nobody has is refused. */
  hasKeys: boolean
  tenantByKey(key: string): Tenant | null
}

/**
 * Compiles a snapshot to lookup tables. Backends are bound by UID; with an empty map this is a dry run that shows
 * whether gateways will take the snapshot.
 */
export function compile(snapshot: Snapshot, backends: ReadonlyMap<string, Backend>): Config {
  const routes = snapshot.routes.map(route => bindRoute(route, backends))
  const tenants = snapshot.tenants.map(tenant => lazyTenant(tenant, routes))
  const byHash = new Map<string, Tenant>()
  for (const tenant of tenants) for (const key of tenant.config.keys) byHash.set(key.sha256, tenant)
  return {
    epoch: snapshot.epoch,
    generation: snapshot.generation,
    backends,
    routes,
    policies: snapshot.policies,
    ...findUnsupported(snapshot),
    tenants: new Map(tenants.map(tenant => [tenant.config.uid, tenant])),
    anonymous: tenants.find(tenant => tenant.config.anonymous) ?? null,
    hasKeys: byHash.size > 0,
    tenantByKey: key => lookUp(byHash, key),
  }
}

/**
 * Only hashes are kept and compared: what a lookup's timing could tell is about a SHA-256 of the presented key, from
 * which no other key can be approached. The final comparison takes the same time wherever the hashes differ.
 */
function lookUp(byHash: ReadonlyMap<string, Tenant>, key: string): Tenant | null {
  const presented = hash('sha256', key, 'buffer')
  const tenant = byHash.get(presented.toString('hex'))
  if (!tenant) return null
  const same = tenant.config.keys.some(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), presented))
  return same ? tenant : null
}

function bindRoute(config: RouteConfig, backends: ReadonlyMap<string, Backend>): Route {
  return {
    config,
    id: `${config.namespace}/${config.name}`,
    headers: config.match.headers.map(({ name, value }) => ({ name: name.toLowerCase(), value })),
    targets: config.targets.map(target => ({ config: target, backend: backends.get(target.uid ?? '') ?? null })),
    sortKey: `${config.namespace}\0${config.name}`,
    renamesAll: config.targets.every(target => target.model !== undefined),
  }
}

function lazyTenant(config: TenantConfig, routes: readonly Route[]): Tenant {
  let table: RouteTable | undefined
  return {
    config,
    id: `${config.namespace}/${config.name}`,
    get table() {
      table ??= new RouteTable(routes, config)
      return table
    },
  }
}

/** What must be refused for want of a feature. A policy that cannot be enforced closes its targets: never unlimited. */
function findUnsupported(snapshot: Snapshot): Pick<Config, 'refused' | 'unsupported'> {
  const refused: Refused[] = []
  const unsupported = new Map<string, string>()
  const kinds = {
    ModelBackend: snapshot.backends,
    LLMRoute: snapshot.routes,
    LLMTenant: snapshot.tenants,
    RateLimitPolicy: snapshot.policies,
  }
  for (const [kind, objects] of Object.entries(kinds)) {
    for (const object of objects) {
      const lacking = object.requires.filter(feature => !FEATURES.has(feature)).join(', ')
      if (!lacking) continue
      const { uid, namespace, name } = object
      const message = `this gateway lacks ${lacking}; upgrade the gateways`
      refused.push({ kind, namespace, name, uid, reason: 'UnsupportedByGateway', message })
      unsupported.set(uid, lacking)
      if ('limits' in object) for (const target of object.targets) unsupported.set(target.uid, lacking)
    }
  }
  return { refused, unsupported }
}
