import type { KindName } from '../../crds/kinds.ts'
import type { Accepted } from './accept.ts'

/** Which objects there are, whether rendered or not. */
export interface Known {
  /** Objects of this gateway, as `objectId` has it. */
  here: ReadonlySet<string>
  /** Gateway of the objects of others. */
  elsewhere: ReadonlyMap<string, string>
}

export function objectId(kind: KindName, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`
}

export function knownObjects({ objects, elsewhere }: Accepted): Known {
  const here = Object.values(objects).flatMap(list =>
    list.map(({ kind, namespace, name }) => objectId(kind, namespace, name)),
  )
  return { here: new Set(here), elsewhere }
}

/** Why an object that is not rendered cannot be referred to, and what to do. */
export function whyMissing(id: string, { here, elsewhere }: Known): string {
  if (here.has(id)) return `${id} is not accepted; its own status says why`
  const owner = elsewhere.get(id)
  if (owner !== undefined) return `${id} belongs to gateway ${owner}; name one of the same gateway`
  return `${id} was not found; create it, or correct the reference`
}
