import type { z } from 'zod'
import { llmRouteSpec } from './llm-route.ts'
import { llmTenantSpec } from './llm-tenant.ts'
import { modelBackendSpec } from './model-backend.ts'
import { rateLimitPolicySpec } from './rate-limit-policy.ts'

export type KindName = 'ModelBackend' | 'LLMRoute' | 'RateLimitPolicy' | 'LLMTenant'

/** What the API server and kubectl know of a kind beside its schema. */
export interface Kind {
  spec: z.ZodType
  plural: string
  singular: string
  shortName: string
  description: string
  /** Extra columns of `kubectl get`, besides READY, REASON and AGE. */
  columns: { name: string; type: 'string' | 'integer' | 'boolean'; jsonPath: string }[]
}

/** The four kinds of the API group. */
export const KINDS = {
  ModelBackend: {
    spec: modelBackendSpec,
    plural: 'modelbackends',
    singular: 'modelbackend',
    shortName: 'wmb',
    description: 'One upstream that serves models.',
    columns: [
      { name: 'Provider', type: 'string', jsonPath: '.spec.provider' },
      { name: 'Endpoint', type: 'string', jsonPath: '.spec.endpoint.url' },
    ],
  },
  LLMRoute: {
    spec: llmRouteSpec,
    plural: 'llmroutes',
    singular: 'llmroute',
    shortName: 'wlr',
    description: 'Which requests go where.',
    columns: [
      { name: 'Models', type: 'string', jsonPath: '.spec.match.models' },
      { name: 'Backends', type: 'string', jsonPath: '.spec.backends[*].name' },
    ],
  },
  RateLimitPolicy: {
    spec: rateLimitPolicySpec,
    plural: 'ratelimitpolicies',
    singular: 'ratelimitpolicy',
    shortName: 'wrlp',
    description: 'How much of it.',
    columns: [{ name: 'Targets', type: 'string', jsonPath: '.spec.targetRefs[*].name' }],
  },
  LLMTenant: {
    spec: llmTenantSpec,
    plural: 'llmtenants',
    singular: 'llmtenant',
    shortName: 'wt',
    description: 'Who may send requests.',
    columns: [{ name: 'Anonymous', type: 'boolean', jsonPath: '.spec.anonymous' }],
  },
} as const satisfies Record<KindName, Kind>

export const KIND_NAMES = Object.keys(KINDS) as KindName[]
