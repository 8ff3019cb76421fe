import { stringify } from 'yaml'
import { API_VERSION } from '../../crds/group.ts'
import type { KindName } from '../../crds/kinds.ts'
import type { LLMRouteSpec } from '../../crds/llm-route.ts'
import type { LLMTenantSpec } from '../../crds/llm-tenant.ts'
import type { ModelBackendSpec } from '../../crds/model-backend.ts'
import type { RateLimitPolicySpec } from '../../crds/rate-limit-policy.ts'

interface Named {
  name: string
  /** Absent means that the document names none. */
  namespace?: string
}

/** One resource as a YAML document. */
export function resourceYaml(kind: KindName, { name, namespace }: Named, spec: object): string {
  return stringify({ apiVersion: API_VERSION, kind, metadata: { name, ...(namespace && { namespace }) }, spec })
}

/** Documents in one file. */
export function yamlFile(...documents: string[]): string {
  return documents.join('---\n')
}

export interface BackendParts extends Named, Partial<Omit<ModelBackendSpec, 'endpoint' | 'credentials'>> {
  url: string
  /** Name of a Secret whose key `key` holds the credential; see `secretYaml`. */
  secret?: string
  credentials?: ModelBackendSpec['credentials']
}

/** A ModelBackend at `url`, of provider OpenAI unless said. */
export function backendYaml({
  name,
  namespace,
  url,
  secret,
  provider = 'OpenAI',
  credentials,
  ...spec
}: BackendParts): string {
  const fromSecret: ModelBackendSpec['credentials'] = secret
    ? [{ name: 'primary', type: 'APIKey', apiKey: { secretRef: { name: secret, key: 'key' } } }]
    : undefined
  const all: ModelBackendSpec = { provider, endpoint: { url }, credentials: credentials ?? fromSecret, ...spec }
  return resourceYaml('ModelBackend', { name, namespace }, all)
}

export interface RouteParts extends Named, Partial<Omit<LLMRouteSpec, 'match' | 'backends'>> {
  /** Absent means every model. */
  models?: string[]
  headers?: LLMRouteSpec['match']['headers']
  /** A name alone is a backend with everything by default. */
  backends: (string | LLMRouteSpec['backends'][number])[]
}

/** An LLMRoute to the given backends, for every model unless said. */
export function routeYaml({ name, namespace, models = ['*'], headers, backends, ...spec }: RouteParts): string {
  const all: LLMRouteSpec = {
    match: { models, headers },
    backends: backends.map(backend => (typeof backend === 'string' ? { name: backend } : backend)),
    ...spec,
  }
  return resourceYaml('LLMRoute', { name, namespace }, all)
}

export interface TenantParts extends Named, Partial<Omit<LLMTenantSpec, 'apiKeys'>> {
  /** Names of Secrets whose key `key` holds an API key; see `secretYaml`. */
  secrets?: string[]
}

/** An LLMTenant; without `secrets` and `anonymous` nobody can be it. */
export function tenantYaml({ name, namespace, secrets, ...spec }: TenantParts): string {
  const apiKeys = secrets?.map(secret => ({ name: secret, secretRef: { name: secret, key: 'key' } }))
  const all: LLMTenantSpec = { apiKeys, ...spec }
  return resourceYaml('LLMTenant', { name, namespace }, all)
}

/** A RateLimitPolicy. */
export function policyYaml({ name, namespace, ...spec }: Named & RateLimitPolicySpec): string {
  return resourceYaml('RateLimitPolicy', { name, namespace }, spec)
}

/** A Secret with one value, under the key `key`. */
export function secretYaml({ name, namespace, value }: Named & { value: string }): string {
  const metadata = { name, ...(namespace && { namespace }) }
  return stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: value } })
}
