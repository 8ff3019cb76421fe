import { type Bytes, cutAt, toBuffer } from './bytes.ts'
import type { Gate } from './gate.ts'

/** One thing that a scripted upstream does with a connection. */
export type Step =
  | { do: 'early' }
  | { do: 'body' }
  | { do: 'write'; bytes: Buffer }
  | { do: 'pause'; ms: number }
  | { do: 'wait'; gate: Gate }
  | { do: 'stall' }
  | { do: 'fin' }
  | { do: 'reset' }

/** What happens for one request, in order. Lists may be nested; they are flattened. */
export type Script = readonly (Step | Script)[]

/** First step of a script that begins when the head of the request has arrived; others begin after its body. */
export const early = (): Step => ({ do: 'early' })

/** Waits for the rest of the request's body. Only of use after `early`. */
export const body = (): Step => ({ do: 'body' })

/** Writes exactly these bytes, in one segment where they fit; goes on once the system has taken them. */
export const write = (...bytes: Bytes[]): Step => ({ do: 'write', bytes: Buffer.concat(bytes.map(toBuffer)) })

/** Writes `bytes` cut at the offsets, with a pause between the pieces so that they arrive apart. */
export function splits(bytes: Bytes, offsets: readonly number[], pauseMs = 20): Script {
  return cutAt(bytes, offsets).flatMap((piece, i) => (i === 0 ? [write(piece)] : [pause(pauseMs), write(piece)]))
}

export const pause = (ms: number): Step => ({ do: 'pause', ms })

/** Goes on when the test opens the gate. */
export const wait = (gate: Gate): Step => ({ do: 'wait', gate })

/** Does nothing more until the connection is closed from the other side. */
export const stall = (): Step => ({ do: 'stall' })

/** Ends our side (FIN); the connection takes no further requests. */
export const fin = (): Step => ({ do: 'fin' })

/** Cuts the connection with RST. What was written before has left the process. */
export const reset = (): Step => ({ do: 'reset' })

/** A script without its nesting. */
export function flatten(script: Script): Step[] {
  return script.flatMap(step => ('do' in step ? [step] : flatten(step)))
}
