import type {
  BackendConfig,
  PolicyConfig,
  RouteConfig,
  Snapshot,
  TargetConfig,
  TenantConfig,
} from '../config/snapshot.ts'
import { SNAPSHOT_SCHEMA } from '../config/snapshot.ts'

/** Objects of a snapshot with plain values everywhere; a test names only the fields that it is about. */

function identity(uid: string) {
  return { uid, namespace: 'default', name: uid, generation: 1, requires: [] }
}

export function backendOf(uid: string, fields: Partial<BackendConfig> = {}): BackendConfig {
  return {
    ...identity(uid),
    provider: 'OpenAI',
    url: 'http://127.0.0.1:9/v1',
    headers: [],
    credentials: [],
    concurrencyMax: 4,
    queueDepth: 4,
    timeouts: { connectMs: 1000, firstByteMs: 5000, idleMs: 5000, totalMs: 10_000 },
    drainTimeoutMs: 60_000,
    allowedNamespaces: [],
    usable: true,
    ...fields,
  }
}

export function targetOf(uid: string, fields: Partial<TargetConfig> = {}): TargetConfig {
  return { namespace: 'default', name: uid, uid, priority: 0, weight: 1, ...fields }
}

export function routeOf(uid: string, fields: Partial<RouteConfig> & { models?: string[] } = {}): RouteConfig {
  const { models = ['m'], ...rest } = fields
  return {
    ...identity(uid),
    createdAt: 0,
    match: { models, headers: [] },
    access: { namespaces: ['default'] },
    targets: [targetOf('b')],
    retry: {
      attempts: 3,
      failures: ['Connect', 'Reset', 'BadResponse'],
      codes: [429, 503],
      backoff: { baseMs: 1, maxMs: 2 },
    },
    timeoutMs: 10_000,
    maxWaitMs: 1000,
    ...rest,
  }
}

export function tenantOf(uid: string, fields: Partial<TenantConfig> = {}): TenantConfig {
  return { ...identity(uid), keys: [], anonymous: false, allNamespaces: false, ...fields }
}

export function policyOf(
  uid: string,
  target: string,
  limits: PolicyConfig['limits'],
  fields: Partial<PolicyConfig> = {},
): PolicyConfig {
  return { ...identity(uid), targets: [{ kind: 'LLMRoute', name: target, uid: target }], limits, ...fields }
}

export function limitOf(name: string, requests: number, fields: Partial<PolicyConfig['limits'][number]> = {}) {
  return { name, by: [], requests, perMs: 60_000, ...fields }
}

export function snapshotOf(objects: Partial<Snapshot>): Snapshot {
  return {
    epoch: 'test',
    generation: 1,
    schema: SNAPSHOT_SCHEMA,
    backends: [],
    routes: [],
    tenants: [],
    policies: [],
    ...objects,
  }
}

/** Pseudo-random numbers in [0, 1), the same at every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
