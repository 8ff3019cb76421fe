import { API_VERSION } from './group.ts'
import { KIND_NAMES, type KindName } from './kinds.ts'
import { type Path, parsePath } from './path.ts'
import type { ProblemCode } from './problem.ts'
import type { Table } from './vectors/families.ts'
import { llmRouteTable } from './vectors/llm-route.ts'
import { llmTenantTable } from './vectors/llm-tenant.ts'
import { modelBackendTable } from './vectors/model-backend.ts'
import { rateLimitPolicyTable } from './vectors/rate-limit-policy.ts'

/** One object and what must become of it, whether zod or an API server judges. */
export interface Vector {
  name: string
  kind: KindName
  object: Record<string, unknown>
  /** What is stored before `object` replaces it; only an API server can judge these. */
  old?: Record<string, unknown>
  valid: boolean
  /** Where the error is reported. */
  path?: string
  code?: ProblemCode
  /** The field that the vector is about, list indexes left out: `spec.limits[].per`. */
  field: string
}

const TABLES: Record<KindName, Table> = {
  ModelBackend: modelBackendTable,
  LLMRoute: llmRouteTable,
  RateLimitPolicy: rateLimitPolicyTable,
  LLMTenant: llmTenantTable,
}

/** Every vector; object names are unique within a kind. */
export const VECTORS: Vector[] = KIND_NAMES.flatMap(kind => [...vectorsOf(kind, TABLES[kind]), ...transitions(kind)])

function vectorsOf(kind: KindName, { full, cases }: Table): Vector[] {
  let count = 0
  const make = (path: string, value: unknown) => ({
    name: `${kind}: ${path} ${value === undefined ? 'absent' : JSON.stringify(value).slice(0, 80)}`,
    kind,
    object: objectOf(kind, `vector-${++count}`, withValue(full, parsePath(path), value)),
    field: `spec.${path.replaceAll(/\[[0-9]+\]/g, '[]')}`,
  })
  return [
    { name: `${kind}: the full example`, kind, object: objectOf(kind, 'vector-0', full), valid: true, field: 'spec' },
    ...cases.flatMap(([path, good, bad]): Vector[] => [
      ...good.map(value => ({ ...make(path, value), valid: true })),
      ...bad.map(([value, code, at]) => ({ ...make(path, value), valid: false, code, path: `spec.${at ?? path}` })),
    ]),
  ]
}

/** The fleet of an object cannot change; absent and the default are the same. */
function transitions(kind: KindName): Vector[] {
  const { full } = TABLES[kind]
  const change = (from: string | undefined, to: string | undefined, name: string): Omit<Vector, 'valid'> => ({
    name: `${kind}: gateway ${from ?? 'absent'} becomes ${to ?? 'absent'}`,
    kind,
    old: objectOf(kind, name, withValue(full, ['gateway'], from)),
    object: objectOf(kind, name, withValue(full, ['gateway'], to)),
    field: 'spec.gateway',
  })
  return [
    { ...change(undefined, 'weir', 'moves-0'), valid: true },
    { ...change('weir', undefined, 'moves-1'), valid: true },
    { ...change('weir', 'other', 'moves-2'), valid: false, path: 'spec' },
    { ...change('other', undefined, 'moves-3'), valid: false, path: 'spec' },
  ]
}

function objectOf(kind: KindName, name: string, spec: unknown): Record<string, unknown> {
  return { apiVersion: API_VERSION, kind, metadata: { name, namespace: 'default' }, spec }
}

/** A copy of `root` with `value` at `path`, or without that field. */
function withValue(root: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  const copy = structuredClone(root) as Record<string | number, unknown>
  const entry = withValue(copy[key], rest, value)
  if (entry === undefined) delete copy[key]
  else copy[key] = entry
  return copy
}
