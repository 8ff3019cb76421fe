import type { Config } from '../config/compile.ts'
import type { Limits } from '../limits/limits.ts'
import type { BodyBudget } from './body.ts'
import type { Outcome } from './outcome.ts'

/** What the path of a request uses of the gateway. `config` changes under it; a request looks at it anew for each try. */
export interface Runtime {
  readonly config: Config
  readonly limits: Limits
  readonly bodyBudget: BodyBudget
  readonly maxRequestBytes: number
  /** Told of every try that was sent. */
  attempted(outcome: Outcome['kind']): void
}
