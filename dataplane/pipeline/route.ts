import type { IncomingHttpHeaders } from 'node:http'
import type { Config, Tenant } from '../config/compile.ts'
import type { Match } from '../config/route-table.ts'
import { GatewayError } from '../dialects/errors.ts'
import type { Subject } from '../limits/limits.ts'
import type { Exchange } from './exchange.ts'

/** Most names that an error lists. */
const MAX_LISTED = 20

/**
 * The route of a model in the tenant's table.
 *
 * @throws GatewayError model_not_found, with the names that the caller may use; no_backend where this gateway is too
 * old for the route or the tenant
 */
export function findRoute(config: Config, tenant: Tenant, model: string, headers: IncomingHttpHeaders): Match {
  const match = tenant.table.find(model, headers)
  if (!match) throw modelNotFound(model, tenant.table.offers())
  const lacking = config.unsupported.get(tenant.config.uid) ?? config.unsupported.get(match.route.config.uid)
  if (lacking) throw new GatewayError('no_backend', `This gateway lacks ${lacking}, which the configuration requires.`)
  return match
}

export function modelNotFound(model: string, offers: string[]): GatewayError {
  const listed = offers.slice(0, MAX_LISTED).join(', ')
  const more = offers.length > MAX_LISTED ? ` and ${offers.length - MAX_LISTED} more` : ''
  const hint = offers.length === 0 ? 'No model is open to you yet.' : `You may use: ${listed}${more}.`
  return new GatewayError('model_not_found', `The model ${JSON.stringify(model)} does not exist for you. ${hint}`, {
    param: 'model',
  })
}

/**
 * What tells the request's budgets apart. Where a route renames the model for every backend, any name that matches its
 * pattern is the same model; inventing names must not give fresh budgets.
 */
export function subjectOf(exchange: Exchange): Subject {
  const { route, pattern } = exchange.match!
  return { tenant: exchange.tenant!.config.uid, model: route.renamesAll ? pattern : exchange.model }
}
