import { z } from 'zod'

/**
 * The contract between whoever renders configuration and the gateways that apply it. Additive within a major version:
 * a gateway ignores fields it does not know and refuses the traffic of objects whose `requires` names a feature it
 * lacks. All defaults are resolved; times are in milliseconds.
 */
export const SNAPSHOT_SCHEMA = { major: 1, minor: 0 } as const

/** Features that this gateway can be required to have by an object's `requires`. */
export const FEATURES: ReadonlySet<string> = new Set<string>()

const ms = z.number().int().min(0)

/** What every rendered object carries. `uid` identifies it over reloads; `generation` is that of the rendered spec. */
const identity = {
  uid: z.string().min(1),
  namespace: z.string().min(1),
  name: z.string().min(1),
  generation: z.number().int(),
  requires: z.array(z.string()),
}

const backend = z.object({
  ...identity,
  provider: z.enum(['OpenAI', 'Anthropic']),
  url: z.url(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Values are secrets: never logged, never in `/status`. */
  credentials: z.array(z.object({ name: z.string(), weight: z.number().min(0), value: z.string().min(1) })),
  concurrencyMax: z.number().int().min(1),
  queueDepth: z.number().int().min(0),
  timeouts: z.object({ connectMs: ms, firstByteMs: ms, idleMs: ms, totalMs: ms }),
  drainTimeoutMs: ms,
  allowedNamespaces: z.array(z.string()),
  /** Present while it takes no new work; streams that still run at `deadline` (ms since the epoch) are ended. */
  draining: z.object({ deadline: z.number() }).optional(),
  /** False: it cannot be used now (a credential is absent); its share of the traffic fails. */
  usable: z.boolean(),
})

const target = z.object({
  namespace: z.string(),
  name: z.string(),
  /** Absent: the backend does not exist or may not be used; its share of the traffic fails. */
  uid: z.string().optional(),
  priority: z.number().int().min(0),
  weight: z.number().int().min(0),
  model: z.string().optional(),
})

const route = z.object({
  ...identity,
  /** Seconds since the epoch, 0 where unknown: the oldest goes first where precedence leaves a choice. */
  createdAt: z.number().int(),
  match: z.object({
    models: z.array(z.string()).min(1),
    headers: z.array(z.object({ name: z.string(), value: z.string() })),
  }),
  /** `namespaces` includes the route's own; `tenants` absent means all of them. */
  access: z.object({ namespaces: z.array(z.string()), tenants: z.array(z.string()).optional() }),
  targets: z.array(target).min(1),
  retry: z.object({
    attempts: z.number().int().min(1),
    failures: z.array(z.string()),
    codes: z.array(z.number().int()),
    backoff: z.object({ baseMs: ms, maxMs: ms }),
  }),
  timeoutMs: ms,
  maxWaitMs: ms,
})

const tenant = z.object({
  ...identity,
  /** SHA-256 of each key, in hex. */
  keys: z.array(z.object({ name: z.string(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })),
  anonymous: z.boolean(),
  /** Standalone without tenants: the routes of every namespace are its own. */
  allNamespaces: z.boolean(),
})

const policy = z.object({
  ...identity,
  targets: z.array(
    z.object({ kind: z.enum(['LLMRoute', 'ModelBackend', 'LLMTenant']), name: z.string(), uid: z.string() }),
  ),
  limits: z.array(
    z.object({
      name: z.string(),
      by: z.array(z.enum(['Tenant', 'Model'])),
      requests: z.number().int().min(1),
      perMs: z.number().int().min(1000),
    }),
  ),
})

export const snapshotSchema = z.object({
  epoch: z.string().min(1),
  generation: z.number().int().min(1),
  schema: z.object({ major: z.number().int(), minor: z.number().int() }),
  backends: z.array(backend),
  routes: z.array(route),
  tenants: z.array(tenant),
  policies: z.array(policy),
})

export type Snapshot = z.output<typeof snapshotSchema>
export type BackendConfig = Snapshot['backends'][number]
export type RouteConfig = Snapshot['routes'][number]
export type TargetConfig = RouteConfig['targets'][number]
export type TenantConfig = Snapshot['tenants'][number]
export type PolicyConfig = Snapshot['policies'][number]
