import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../dialects/errors.ts'

/** An answer of the upstream that was not passed on, whole (up to 64 KiB) and decoded. */
export interface HeldAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/**
 * How one try ended.
 *
 * - `Done`: the response was passed on to its end.
 * - `Broken`: it failed after the commit; the client has seen an error event or a cut connection.
 * - `Cancelled`: the request was ended from our side.
 * - The others came before the commit, so that another try is possible: `Connect` no connection; `Timeout`;
 *   `Reset` the connection ended before the response; `BadResponse` a response that is none; `Status` an error status.
 */
export type Outcome =
  | { kind: 'Done' }
  | { kind: 'Broken'; reason: string; code: ErrorCode }
  | { kind: 'Cancelled' }
  | { kind: 'Connect'; reason: string }
  | { kind: 'Timeout'; reason: string }
  | { kind: 'Reset'; reason: string }
  | { kind: 'BadResponse'; reason: string; answer?: HeldAnswer }
  | { kind: 'Status'; answer: HeldAnswer }

/** A try that failed in a way that another one may mend. */
export type Failure = Exclude<Outcome, { kind: 'Done' | 'Broken' | 'Cancelled' }>
