import type { IncomingHttpHeaders } from 'node:http'
import type { Config, Tenant } from '../config/compile.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { GatewayError } from '../dialects/errors.ts'

/**
 * Who the caller is. A key that no tenant has is refused wherever any tenant has keys; only where none has is any key
 * the anonymous tenant, because SDKs always send one.
 *
 * @throws GatewayError invalid_api_key
 */
export function authenticate(config: Config, dialect: Dialect, headers: IncomingHttpHeaders): Tenant {
  const key = presentedKey(dialect, headers)
  if (key !== null && config.hasKeys) {
    const tenant = config.tenantByKey(key)
    if (tenant) return tenant
    throw new GatewayError('invalid_api_key', 'Incorrect API key. Use a key of a tenant of this gateway.')
  }
  if (config.anonymous) return config.anonymous
  const [header] = dialect.keyHeaders
  const how = header === 'authorization' ? 'Authorization: Bearer KEY' : `${header}: KEY`
  throw new GatewayError('invalid_api_key', `An API key is required. Send it in the header "${how}".`)
}

function presentedKey(dialect: Dialect, headers: IncomingHttpHeaders): string | null {
  for (const name of dialect.keyHeaders) {
    const value = headers[name]
    if (typeof value !== 'string' || value === '') continue
    if (name !== 'authorization') return value
    const bearer = /^Bearer +(\S+) *$/i.exec(value)
    // Another scheme is still a credential, and one that nobody has.
    return bearer ? bearer[1]! : value
  }
  return null
}
