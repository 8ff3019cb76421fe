import { parseAllDocuments } from 'yaml'
import { CREDENTIALS_LABEL } from '../../../crds/group.ts'
import type { KindName } from '../../../crds/kinds.ts'
import { translate } from '../translate.ts'
import type { Published, Resource, Resources, Secret, TranslateOptions } from '../types.ts'

/** A document of a golden input; what is left out of the metadata is filled in. */
interface Document {
  apiVersion?: string
  kind: KindName | 'Secret'
  metadata: Partial<Resource['metadata']> & { name: string; labels?: Record<string, string> }
  spec?: unknown
  stringData?: Record<string, string>
}

/** The first document, when it is none of a resource: how to translate, and what was in service before. */
interface Setting {
  options?: Partial<TranslateOptions>
  /** Resources whose translation is what has been published. */
  published?: Document[]
}

export interface Case {
  resources: Resources
  published: Published | undefined
  options: TranslateOptions
}

const DEFAULT_OPTIONS: TranslateOptions = {
  gateway: 'weir',
  anonymousNamespaces: '*',
  anonymousFallback: false,
  now: Date.parse('2026-01-01T00:00:00Z'),
}

/**
 * Reads a golden input. Namespace is `default`, generation 1, the UID tells kind, namespace and name, and a Secret has
 * its label, unless said otherwise. `published` was translated an hour before the rest, and anonymous
 * tenants were allowed everywhere.
 */
export function readCase(text: string): Case {
  const documents = parseAllDocuments(text).map(document => document.toJS() as unknown)
  const first = documents[0] as Setting & Partial<Document>
  const setting: Setting = first.kind ? {} : first
  const options = { ...DEFAULT_OPTIONS, ...setting.options }
  const before: TranslateOptions = { ...options, anonymousNamespaces: '*', now: options.now - 3_600_000 }
  return {
    resources: toResources((first.kind ? documents : documents.slice(1)) as Document[]),
    published: setting.published && translate(toResources(setting.published), undefined, before).content,
    options,
  }
}

function toResources(documents: Document[]): Resources {
  return {
    objects: documents.filter(document => document.kind !== 'Secret').map(toResource),
    secrets: documents.filter(document => document.kind === 'Secret').map(toSecret),
  }
}

function toResource({ apiVersion = 'weir.dev/v1alpha1', kind, metadata, spec }: Document): Resource {
  const namespace = metadata.namespace ?? 'default'
  const uid = `${kind}/${namespace}/${metadata.name}`
  return { apiVersion, kind: kind as KindName, metadata: { uid, generation: 1, ...metadata, namespace }, spec }
}

function toSecret({ metadata, stringData }: Document): Secret {
  const { namespace = 'default', name, labels = { [CREDENTIALS_LABEL]: 'true' } } = metadata
  return { namespace, name, labelled: labels[CREDENTIALS_LABEL] === 'true', data: stringData ?? {} }
}
