import { DEFAULTS } from '../../crds/defaults.ts'
import type { ModelBackendSpec } from '../../crds/model-backend.ts'
import { parseDuration } from '../../crds/primitives.ts'
import { isObject } from '../../crds/problem.ts'
import type { BackendConfig } from '../../dataplane/config/snapshot.ts'
import { type Findings, identityOf } from './findings.ts'
import { mention } from './last-spec.ts'
import { type Secrets, sha256 } from './secrets.ts'

type Backend = Findings<'ModelBackend'>
type Credentials = BackendConfig['credentials']

const ABSENT = DEFAULTS.modelBackend

/** Renders a valid backend. `published` is its last rendering, if any. */
export function renderBackend(
  backend: Backend,
  spec: ModelBackendSpec,
  published: BackendConfig | undefined,
  secrets: Secrets,
  now: number,
): BackendConfig {
  const timeouts = { ...ABSENT.timeouts, ...spec.timeouts }
  const drainTimeoutMs = parseDuration(spec.drain?.timeout ?? timeouts.total)
  const wanted = spec.credentials ?? []
  const credentials = resolveCredentials(backend, wanted, published, secrets)
  return {
    ...identityOf(backend),
    provider: spec.provider,
    url: spec.endpoint.url,
    headers: spec.headers ?? [],
    credentials,
    concurrencyMax: spec.concurrency?.max ?? ABSENT.concurrencyMax,
    queueDepth: spec.queue?.depth ?? ABSENT.queueDepth,
    timeouts: {
      connectMs: parseDuration(timeouts.connect),
      firstByteMs: parseDuration(timeouts.firstByte),
      idleMs: parseDuration(timeouts.idle),
      totalMs: parseDuration(timeouts.total),
    },
    drainTimeoutMs,
    allowedNamespaces: spec.allowedNamespaces ?? [...ABSENT.allowedNamespaces],
    ...draining(backend, published, drainTimeoutMs, now),
    usable: wanted.length === 0 || credentials.length > 0,
  }
}

/** The last rendering of a backend whose spec is invalid now; secrets and draining follow what is there today. */
export function keepBackend(backend: Backend, published: BackendConfig, secrets: Secrets, now: number): BackendConfig {
  const credentials = refreshCredentials(backend, published, secrets)
  const { draining: _, usable, ...rest } = published
  return {
    ...rest,
    credentials,
    ...draining(backend, published, published.drainTimeoutMs, now),
    usable: published.credentials.length === 0 ? usable : credentials.length > 0,
  }
}

/** The deadline is fixed when the drain begins; later edits of the timeout do not move it. */
function draining(backend: Backend, published: BackendConfig | undefined, timeoutMs: number, now: number) {
  return backend.drain ? { draining: published?.draining ?? { deadline: now + timeoutMs } } : {}
}

function resolveCredentials(
  backend: Backend,
  wanted: NonNullable<ModelBackendSpec['credentials']>,
  published: BackendConfig | undefined,
  secrets: Secrets,
): Credentials {
  return wanted.flatMap(({ name, apiKey, weight = ABSENT.credentialWeight }, index) => {
    const { value, problem } = secrets.resolve(backend.namespace, apiKey!.secretRef)
    if (!problem) return [{ name, weight, value }]
    const path = ['spec', 'credentials', index, 'apiKey', 'secretRef']
    backend.unresolved.push({ ...problem, message: `credential ${name}: ${problem.message}`, path })
    // Requests that are still running may yet need it for another try.
    const last = backend.drain ? published?.credentials.find(credential => credential.name === name) : undefined
    return last ? [{ name, weight, value: last.value }] : []
  })
}

function refreshCredentials(backend: Backend, published: BackendConfig, secrets: Secrets): Credentials {
  return published.credentials.flatMap(credential => {
    const said = mention(backend.raw, 'credentials', credential.name, item =>
      isObject(item.apiKey) ? item.apiKey.secretRef : undefined,
    )
    if (typeof said === 'string') {
      const there = backend.drain || secrets.holds(backend.namespace, sha256(credential.value))
      return there ? [credential] : []
    }
    const { value, problem } = secrets.resolve(backend.namespace, said)
    if (!problem) return [{ ...credential, value }]
    backend.unresolved.push({ ...problem, message: `credential ${credential.name}: ${problem.message}` })
    return backend.drain ? [credential] : []
  })
}
