import type { IncomingHttpHeaders } from 'node:http'
import type { Credential } from '../backends/backend.ts'
import type { BackendConfig } from '../config/snapshot.ts'

/** Belong to one connection, not to the message (RFC 9110 §7.6.1). */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

const KEPT_FROM_UPSTREAM = new Set([
  ...HOP_BY_HOP,
  'host',
  'content-length',
  'expect',
  // Credentials and cookies are between client and gateway; the provider gets the backend's own.
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
  // Answers are asked for uncompressed, so that they can be judged and metered as they pass.
  'accept-encoding',
  // Who the caller is stays with us.
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-timeout-ms',
  // Sent anew, so that a server's own log can be matched with ours.
  'x-request-id',
])

const KEPT_FROM_CLIENT = new Set([
  ...HOP_BY_HOP,
  'proxy-authenticate',
  // One tenant's cookie would reach another; the others speak for the provider's host, not for ours.
  'set-cookie',
  'alt-svc',
  'strict-transport-security',
  'x-request-id',
  'request-id',
])

/**
 * Headers for the backend, as a flat list: the client's, less what must not cross, plus the backend's own and its
 * credential.
 */
export function upstreamHeaders(
  raw: readonly string[],
  headers: IncomingHttpHeaders,
  backend: BackendConfig,
  credential: Credential | null,
  requestId: string,
): string[] {
  const nominated = nominatedNames(headers.connection)
  const own = new Set(backend.headers.map(({ name }) => name.toLowerCase()))
  const out: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    if (KEPT_FROM_UPSTREAM.has(name) || name.startsWith('x-weir-') || nominated?.includes(name) || own.has(name))
      continue
    out.push(raw[i]!, raw[i + 1]!)
  }
  out.push('accept-encoding', 'identity', 'x-request-id', requestId)
  for (const { name, value } of backend.headers) out.push(name, value)
  if (credential) addCredential(out, backend.provider, credential)
  return out
}

function addCredential(out: string[], provider: BackendConfig['provider'], { value }: Credential): void {
  if (provider === 'Anthropic') out.push('x-api-key', value)
  else out.push('authorization', `Bearer ${value}`)
}

/** Headers for the client, as a flat list: the upstream's, less what must not cross. */
export function downstreamHeaders(headers: IncomingHttpHeaders): string[] {
  const nominated = nominatedNames(headers.connection)
  const out: string[] = []
  for (const name in headers) {
    if (KEPT_FROM_CLIENT.has(name) || name.startsWith('x-weir-') || nominated?.includes(name)) continue
    const value = headers[name]
    if (Array.isArray(value)) for (const item of value) out.push(name, item)
    else if (value !== undefined) out.push(name, value)
  }
  // The provider's own id is what its support asks for; ours is the one that the client sees first.
  const providerId = headers['x-request-id'] ?? headers['request-id']
  if (typeof providerId === 'string') out.push('x-weir-upstream-request-id', providerId)
  return out
}

/** Names that `Connection` makes hop-by-hop. A client may so hide nothing that we add: only its own are dropped. */
function nominatedNames(connection: string | undefined): string[] | null {
  if (!connection || connection === 'keep-alive' || connection === 'close') return null
  return connection.toLowerCase().split(/\s*,\s*/)
}
