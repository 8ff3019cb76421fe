import type { KindName } from '../../crds/kinds.ts'
import type { SpecOf } from '../../crds/validate.ts'
import type { VerdictProblem } from './types.ts'

/**
 * One object of this gateway and what translation finds out about it. Everything but the lists of problems and `served`
 * is copied from the resource once, so that no later step touches the resource itself.
 */
export interface Findings<K extends KindName = KindName> {
  kind: K
  namespace: string
  name: string
  uid: string
  generation: number
  /** Seconds since the epoch; 0 where unknown. */
  createdAt: number
  /** The drain annotation is set. */
  drain: boolean
  /** Present when the spec is valid. */
  spec?: SpecOf<K>
  /** The spec as it came, for what must be read even from an invalid one. */
  raw: unknown

  /** Why the object as it stands is not accepted. */
  invalid: VerdictProblem[]
  /** Others that have all that this object asks for. */
  conflicted: VerdictProblem[]
  /** References that lead nowhere. */
  unresolved: VerdictProblem[]
  /** Parts that do not count while the rest does. */
  partial: VerdictProblem[]
  /** Generation of the spec that the content serves. */
  served?: number
}

/**
 * Runs one object's translation. A throw is that object's own fault and nobody else's: it is noted as `Invalid`, and
 * undefined comes back.
 */
export function isolated<T>(findings: Findings, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    findings.invalid.push({ reason: 'Invalid', message: `the object cannot be translated: ${reasonOf(error)}` })
    return undefined
  }
}

function reasonOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return 'it throws what cannot be shown'
  }
}

/** What every rendered object carries. */
export function identityOf({ uid, namespace, name, generation }: Findings) {
  return { uid, namespace, name, generation, requires: [] as string[] }
}
