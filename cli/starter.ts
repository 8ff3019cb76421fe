import { API_VERSION } from '../crds/group.ts'
import { validateObject } from '../crds/validate.ts'
import { Ledger, objectKey } from '../operator/files/ledger.ts'
import type { FileObject, LoadedFiles } from '../operator/files/source.ts'
import type { Resources } from '../operator/translate/types.ts'
import { CommandError } from './command.ts'

interface Provider {
  name: string
  provider: 'OpenAI' | 'Anthropic'
  /** Names of the variables that the provider's own SDK reads. */
  key: string
  baseUrl: string
  defaultUrl: string
  models: string[]
}

const PROVIDERS: Provider[] = [
  {
    name: 'openai',
    provider: 'OpenAI',
    key: 'OPENAI_API_KEY',
    baseUrl: 'OPENAI_BASE_URL',
    defaultUrl: 'https://api.openai.com/v1',
    models: ['gpt-*', 'o*', 'text-embedding-*'],
  },
  {
    name: 'anthropic',
    provider: 'Anthropic',
    key: 'ANTHROPIC_API_KEY',
    baseUrl: 'ANTHROPIC_BASE_URL',
    defaultUrl: 'https://api.anthropic.com',
    models: ['claude-*'],
  },
]

/** What `weir run` serves without files. */
export interface Starter {
  loaded: LoadedFiles
  /** One line for each way to get a model, present or not. */
  notes: string[]
}

/**
 * Ordinary resources for the demo model and for each provider whose key is in the environment, and a tenant for
 * callers without a key. Throws a CommandError that names the variable whose value cannot be used.
 */
export function starter(demoUrl: string, environment: Record<string, string | undefined>): Starter {
  const notes = ['demo: the built-in demo model']
  const documents: unknown[] = [
    backend('demo-openai', 'OpenAI', `${demoUrl}/v1`),
    backend('demo-anthropic', 'Anthropic', demoUrl),
    route('demo', ['demo'], ['demo-openai', 'demo-anthropic']),
    document('LLMTenant', 'anonymous', { anonymous: true }),
  ]
  const secrets: Resources['secrets'] = []
  for (const { name, provider, key, baseUrl, defaultUrl, models } of PROVIDERS) {
    const value = environment[key]?.trim()
    const names = models.join(' ')
    if (!value) {
      notes.push(`${names}: set ${key} to have them`)
      continue
    }
    const url = environment[baseUrl]?.trim() || defaultUrl
    const { problems } = validateObject(backend(name, provider, url))
    if (problems[0]) throw new CommandError(`${baseUrl} ${problems[0].message}; correct it or unset it`)
    notes.push(`${names}: ${url.split('?')[0]} with the key in ${key}`)
    documents.push(backend(name, provider, url, { name, key: 'api-key' }), route(name, models, [name]))
    secrets.push({ namespace: 'default', name, labelled: true, data: { 'api-key': value } })
  }
  return { loaded: asLoaded(documents, secrets), notes }
}

/** Throws when a provider's address is the gateway itself: every request would come back to it. */
export function refuseLoop(gatewayPort: number, environment: Record<string, string | undefined>): void {
  for (const { key, baseUrl } of PROVIDERS) {
    const url = URL.parse(environment[baseUrl] ?? '')
    const local = url && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
    if (environment[key] && local && url.port === String(gatewayPort)) {
      throw new CommandError(`${baseUrl} is the address of this gateway itself; unset it, or choose another --port`)
    }
  }
}

function document(kind: string, name: string, spec: unknown): unknown {
  return { apiVersion: API_VERSION, kind, metadata: { name }, spec }
}

function backend(name: string, provider: string, url: string, secretRef?: { name: string; key: string }): unknown {
  const credentials = secretRef && [{ name: 'environment', type: 'APIKey', apiKey: { secretRef } }]
  return document('ModelBackend', name, { provider, endpoint: { url }, ...(credentials && { credentials }) })
}

function route(name: string, models: string[], backends: string[]): unknown {
  return document('LLMRoute', name, { match: { models }, backends: backends.map(each => ({ name: each })) })
}

function asLoaded(documents: unknown[], secrets: Resources['secrets']): LoadedFiles {
  const ledger = new Ledger()
  const objects = new Map<string, FileObject>()
  const resources: Resources = { objects: [], secrets }
  for (const each of documents) {
    const { object } = validateObject(each)
    if (!object) throw new Error('a built-in resource is not valid')
    const { apiVersion, kind, spec } = object
    const { name } = object.metadata
    const namespace = 'default'
    const identity = ledger.record(kind, namespace, name, spec)
    resources.objects.push({ apiVersion, kind, metadata: { name, namespace, ...identity }, spec })
    const at = () => ({ file: 'built in', line: 0, column: 0 })
    objects.set(objectKey(kind, namespace, name), { kind, namespace, name, identity, problems: [], at })
  }
  return { resources, problems: [], objects }
}
