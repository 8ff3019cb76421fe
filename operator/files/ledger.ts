import { createHash } from 'node:crypto'

interface Entry {
  incarnation: number
  present: boolean
  generation: number
  spec: string
}

/**
 * Gives objects of files what an API server would give them: a UID that is new when an object comes back after its
 * removal, and a generation that grows with each change of the spec. UIDs are the same in every process, so that
 * metrics of an unchanged object stay comparable over restarts.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>()

  /** Records the spec an object has now. Specs that differ in the order of their fields are the same. */
  record(kind: string, namespace: string, name: string, spec: unknown): { uid: string; generation: number } {
    const key = objectKey(kind, namespace, name)
    const text = canonical(spec)
    let entry = this.#entries.get(key)
    if (!entry?.present) {
      entry = { incarnation: (entry?.incarnation ?? -1) + 1, present: true, generation: 1, spec: text }
      this.#entries.set(key, entry)
    } else if (entry.spec !== text) {
      entry.spec = text
      entry.generation++
    }
    return { uid: uidOf(key, entry.incarnation), generation: entry.generation }
  }

  /** Records which objects exist; all others are gone, and are someone else should they come back. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const [key, entry] of this.#entries) {
      if (!keys.has(key)) entry.present = false
    }
  }
}

export function objectKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`
}

function uidOf(key: string, incarnation: number): string {
  const hex = createHash('sha256').update(`${key}/${incarnation}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

/** JSON with sorted fields: equal for equal values. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
