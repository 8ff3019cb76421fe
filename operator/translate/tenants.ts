import type { LLMTenantSpec } from '../../crds/llm-tenant.ts'
import type { Path } from '../../crds/path.ts'
import type { TenantConfig } from '../../dataplane/config/snapshot.ts'
import { type Findings, identityOf, isolated } from './findings.ts'
import { mention } from './last-spec.ts'
import { byAge, byName } from './order.ts'
import { type Secrets, sha256 } from './secrets.ts'
import type { TranslateOptions } from './types.ts'

type Tenant = Findings<'LLMTenant'>

/** The tenant of a gateway that has none: whoever comes, with the routes of every namespace. */
export const FALLBACK_TENANT: TenantConfig = {
  uid: 'anonymous',
  namespace: 'default',
  name: 'anonymous',
  generation: 1,
  requires: [],
  keys: [],
  anonymous: true,
  allNamespaces: true,
}

/** What only one tenant can have, taken by the oldest first. */
interface Taken {
  /** Owner of each key, by hash. */
  keys: Map<string, { uid: string; name: string }>
  anonymous: Tenant | undefined
}

/** Renders all tenants. An invalid one, too, counts as a tenant: a typing error must not open the gateway to everyone. */
export function renderTenants(
  tenants: readonly Tenant[],
  published: ReadonlyMap<string, TenantConfig>,
  secrets: Secrets,
  options: TranslateOptions,
): TenantConfig[] {
  if (tenants.length === 0) return options.anonymousFallback ? [{ ...FALLBACK_TENANT }] : []
  const taken: Taken = { keys: new Map(), anonymous: undefined }
  return [...tenants]
    .sort(byAge)
    .flatMap(tenant => {
      const last = published.get(tenant.uid)
      const fresh = isolated(tenant, () => renderTenant(tenant, secrets, options, taken))
      const config = fresh ?? (last && isolated(tenant, () => keepTenant(tenant, last, secrets, options, taken)))
      if (config) tenant.served = config.generation
      return config ? [config] : []
    })
    .sort(byName)
}

function renderTenant(tenant: Tenant, secrets: Secrets, options: TranslateOptions, taken: Taken) {
  const { spec } = tenant
  if (!spec) return undefined
  const anonymous = spec.anonymous ?? false
  if (anonymous && !mayBeAnonymous(tenant, options, taken)) return undefined
  const resolved = resolveKeys(tenant, spec, secrets)
  const keys = resolved.filter(({ key, path }) => claim(tenant, key, taken, path)).map(({ key }) => key)
  if (anonymous) taken.anonymous = tenant
  return { ...identityOf(tenant), keys, anonymous, allNamespaces: false }
}

/**
 * The last rendering of a tenant that is not accepted now. Keys that the spec no longer names are revoked at once, and
 * so is whatever it may not be: it goes on with its keys alone, or not at all.
 */
function keepTenant(tenant: Tenant, last: TenantConfig, secrets: Secrets, options: TranslateOptions, taken: Taken) {
  const refused = tenant.spec !== undefined
  const anonymous = last.anonymous && !refused && isAllowed(tenant.namespace, options) && !taken.anonymous
  const keys = refreshKeys(tenant, last, secrets).filter(key => claim(tenant, key, taken))
  if (refused && keys.length === 0) return undefined
  if (anonymous) taken.anonymous = tenant
  return { ...last, keys, anonymous }
}

function mayBeAnonymous(tenant: Tenant, options: TranslateOptions, taken: Taken): boolean {
  const path = ['spec', 'anonymous']
  if (!isAllowed(tenant.namespace, options)) {
    const message =
      `anonymous tenants are not allowed in namespace ${tenant.namespace}; set spec.anonymous to false, or have ` +
      'whoever installs Weir add the namespace to the chart value anonymous'
    tenant.invalid.push({ reason: 'Invalid', message, path })
    return false
  }
  if (taken.anonymous) {
    const { namespace, name } = taken.anonymous
    const message =
      `LLMTenant ${namespace}/${name} is the anonymous tenant of this gateway, and there is only one; ` +
      'set spec.anonymous to false here or there'
    tenant.conflicted.push({ reason: 'Conflicted', message, path })
    return false
  }
  return true
}

function isAllowed(namespace: string, { anonymousNamespaces: allowed }: TranslateOptions): boolean {
  return allowed === '*' || allowed.includes(namespace)
}

function resolveKeys(tenant: Tenant, spec: LLMTenantSpec, secrets: Secrets) {
  return (spec.apiKeys ?? []).flatMap(({ name, secretRef }, index) => {
    const { value, problem } = secrets.resolve(tenant.namespace, secretRef)
    if (problem) {
      const path = ['spec', 'apiKeys', index, 'secretRef']
      tenant.unresolved.push({ ...problem, message: `key ${name}: ${problem.message}`, path })
      return []
    }
    return [{ key: { name, sha256: sha256(value) }, path: ['spec', 'apiKeys', index] }]
  })
}

/** A key belongs to the oldest tenant that has it. Whose it is stays untold: that would help to guess keys. */
function claim(tenant: Tenant, key: TenantConfig['keys'][number], taken: Taken, path?: Path): boolean {
  const owner = taken.keys.get(key.sha256)
  if (!owner) {
    taken.keys.set(key.sha256, { uid: tenant.uid, name: key.name })
    return true
  }
  const message =
    owner.uid === tenant.uid
      ? `key ${key.name} has the same value as key ${owner.name}; remove one of them`
      : `key ${key.name} is in use by another tenant and does not count here; make a new one: weir keys create`
  tenant.partial.push({ reason: 'Conflicted', message, ...(path && { path }) })
  return false
}

function refreshKeys(tenant: Tenant, last: TenantConfig, secrets: Secrets): TenantConfig['keys'] {
  return last.keys.flatMap(key => {
    const said = mention(tenant.raw, 'apiKeys', key.name, item => item.secretRef)
    if (said === 'gone') return []
    if (said === 'unreadable') return secrets.holds(tenant.namespace, key.sha256) ? [key] : []
    const { value, problem } = secrets.resolve(tenant.namespace, said)
    if (!problem) return [{ name: key.name, sha256: sha256(value) }]
    tenant.unresolved.push({ ...problem, message: `key ${key.name}: ${problem.message}` })
    return []
  })
}
