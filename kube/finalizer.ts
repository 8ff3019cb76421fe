import type { KubeClient } from './http.ts'
import type { KubeObject } from './object.ts'
import type { Resource } from './resource.ts'

/**
 * Adds a finalizer if it is not there; returns the object as it is now. Fails with a conflict when the object has
 * changed since it was seen: look again and decide again. An object that is being deleted takes no new ones (422).
 */
export function addFinalizer<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  const present = object.metadata.finalizers ?? []
  if (present.includes(finalizer)) return Promise.resolve(object)
  return write(client, resource, object, [...present, finalizer])
}

/** Takes a finalizer off if it is there, as `addFinalizer`. With the last one an object that is being deleted goes. */
export function removeFinalizer<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  const present = object.metadata.finalizers ?? []
  if (!present.includes(finalizer)) return Promise.resolve(object)
  return write(
    client,
    resource,
    object,
    present.filter(each => each !== finalizer),
  )
}

function write<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { metadata }: T,
  finalizers: string[],
): Promise<T> {
  const { uid, resourceVersion } = metadata
  // A merge patch replaces the list whole, so the version must be the one that the list was read from.
  return client.mergePatch(resource, metadata, { metadata: { uid, resourceVersion, finalizers } })
}
