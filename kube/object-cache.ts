import { deepFreeze } from './freeze.ts'
import { type KubeObject, keyOf, type ObjectName } from './object.ts'

/** What happened to one object. All objects are frozen: they are shared with the cache. */
export type Change<T extends KubeObject> =
  | { type: 'Added'; object: T }
  | { type: 'Modified'; object: T; previous: T }
  /** `object` is the last state that is known; its deletion itself may have been missed. */
  | { type: 'Deleted'; object: T }

/** The objects of a reflector, by name. Each method returns the changes that it made, in order. */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>()

  get size(): number {
    return this.#objects.size
  }

  get(name: ObjectName): T | undefined {
    return this.#objects.get(keyOf(name))
  }

  values(): IterableIterator<T> {
    return this.#objects.values()
  }

  /** Takes the object as it is now. */
  set(raw: T): Change<T>[] {
    const object = kept(raw)
    const key = keyOf(object.metadata)
    const previous = this.#objects.get(key)
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion && sameObject(previous, object))
      return []
    this.#objects.set(key, object)
    if (!previous) return [{ type: 'Added', object }]
    if (sameObject(previous, object)) return [{ type: 'Modified', object, previous }]
    return [
      { type: 'Deleted', object: previous },
      { type: 'Added', object },
    ]
  }

  /** Takes the object's last state and forgets it. */
  delete(raw: T): Change<T>[] {
    const object = kept(raw)
    return this.#objects.delete(keyOf(object.metadata)) ? [{ type: 'Deleted', object }] : []
  }

  /** Forgets what is not among `present` (keys). */
  retain(present: ReadonlySet<string>): Change<T>[] {
    const gone = [...this.#objects].filter(([key]) => !present.has(key))
    for (const [key] of gone) this.#objects.delete(key)
    return gone.map(([, object]) => ({ type: 'Deleted', object }))
  }
}

/** Deleted and made anew under the same name is another object. */
function sameObject(a: KubeObject | undefined, b: KubeObject): boolean {
  return a?.metadata.uid === b.metadata.uid
}

/** `managedFields` are left out: nobody reads them, and they are as large as the rest of the object. */
function kept<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown }
  return deepFreeze({ ...object, metadata })
}
