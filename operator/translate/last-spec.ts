import { secretKeyRef } from '../../crds/primitives.ts'
import { isObject } from '../../crds/problem.ts'
import type { SecretKeyRef } from './secrets.ts'

/**
 * What an invalid spec still says about one named item of a list: that the item is gone, that it refers to a key of a
 * Secret, or nothing that can be understood.
 */
export type Mention = 'gone' | 'unreadable' | SecretKeyRef

/** Looks up `name` in the list `field` of a spec that did not pass its schema; `refOf` digs out the item's reference. */
export function mention(raw: unknown, field: string, name: string, refOf: (item: Item) => unknown): Mention {
  try {
    return lookUp(raw, field, name, refOf)
  } catch {
    return 'unreadable'
  }
}

function lookUp(raw: unknown, field: string, name: string, refOf: (item: Item) => unknown): Mention {
  if (!isObject(raw)) return 'unreadable'
  const list = raw[field] ?? []
  if (!Array.isArray(list)) return 'unreadable'
  const item = list.filter(isObject).find(entry => entry.name === name)
  // An item without a readable name may be any of them.
  if (!item) return list.every(entry => isObject(entry) && typeof entry.name === 'string') ? 'gone' : 'unreadable'
  const parsed = secretKeyRef.safeParse(refOf(item))
  return parsed.success ? parsed.data : 'unreadable'
}

type Item = Record<string, unknown>
