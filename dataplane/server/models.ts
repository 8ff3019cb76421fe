import type { Tenant } from '../config/compile.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { modelNotFound } from '../pipeline/route.ts'

/** The answer to `GET /v1/models`: the names that the tenant may use. Patterns have no names to list. */
export function listModels(tenant: Tenant, dialect: Dialect): unknown {
  const models = tenant.table.names().map(name => describe(tenant, dialect, name))
  if (dialect.name === 'openai') return { object: 'list', data: models }
  const ids = tenant.table.names()
  return { data: models, has_more: false, first_id: ids[0] ?? null, last_id: ids[ids.length - 1] ?? null }
}

/** The answer to `GET /v1/models/NAME`. @throws GatewayError model_not_found */
export function getModel(tenant: Tenant, dialect: Dialect, name: string): unknown {
  if (!tenant.table.first(name)) throw modelNotFound(name, tenant.table.offers())
  return describe(tenant, dialect, name)
}

function describe(tenant: Tenant, dialect: Dialect, name: string) {
  const createdAt = tenant.table.first(name)!.config.createdAt
  if (dialect.name === 'openai') return { id: name, object: 'model', created: createdAt, owned_by: 'weir' }
  return { type: 'model', id: name, display_name: name, created_at: new Date(createdAt * 1000).toISOString() }
}
