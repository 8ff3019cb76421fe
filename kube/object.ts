/** The part of `metadata` that we read or write. What the server sets is absent from objects that were never stored. */
export interface ObjectMeta {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
}

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

/** Where an object is. `namespace` is absent for kinds that have none. */
export interface ObjectName {
  namespace?: string
  name: string
}

/** `namespace/name`, or the name alone where there is no namespace: unique within a kind. */
export function keyOf({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** The reverse of `keyOf`. */
export function nameOf(key: string): ObjectName {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
