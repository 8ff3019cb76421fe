import type { KubeObject } from './object.ts'

/** A kind as the API server addresses it. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  group: string
  version: string
  kind: string
  plural: string
  namespaced: boolean
  /** Never set: carries the type of the objects. */
  type?: T
}

export interface Secret extends KubeObject {
  type?: string
  immutable?: boolean
  /** Base64. */
  data?: Record<string, string>
}

export const SECRETS: Resource<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
}

/** `v1` for the core group, `group/version` for every other. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`
}

export interface ResourcePath {
  namespace?: string
  name?: string
  subresource?: string
}

/**
 * The path of a collection, an object or a subresource. Without a namespace it is the collection of all namespaces.
 * Throws where a namespace is given to a kind that has none, or is missing for a single object.
 */
export function resourcePath(resource: Resource, { namespace, name, subresource }: ResourcePath): string {
  if (namespace !== undefined && !resource.namespaced) {
    throw new Error(`${resource.kind} has no namespace, but one is given: ${namespace}`)
  }
  if (name !== undefined && resource.namespaced && namespace === undefined) {
    throw new Error(`${resource.kind} ${name} needs a namespace`)
  }
  const root = resource.group === '' ? ['api', resource.version] : ['apis', resource.group, resource.version]
  const parts = [
    ...root,
    ...(namespace === undefined ? [] : ['namespaces', segment(namespace)]),
    resource.plural,
    ...(name === undefined ? [] : [segment(name)]),
    ...(subresource === undefined ? [] : [subresource]),
  ]
  return `/${parts.join('/')}`
}

/** `.` and `..` would climb out of the path, and an empty name would address the collection. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..')
    throw new Error(`not the name of an object: ${JSON.stringify(text)}`)
  return encodeURIComponent(text)
}
