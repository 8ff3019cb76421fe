import { chunk, cutAt, jsonResponse, LAST_CHUNK, responseHead } from '../fakes/bytes.ts'
import { streamHead } from '../fakes/sse.ts'
import { fin, pause, reset, type Script, stall, write } from '../fakes/steps.ts'
import { answered, type End, streamed, type WireDialect } from './wire-dialect.ts'

/** How far a request has come when something happens to it. */
export type Phase = 'upload' | 'connect' | 'queue' | 'request' | 'head' | 'prelude' | 'content' | 'finish'

/** What the client does by itself. */
export type Leave = 'close' | 'abort' | 'end'

/** What goes wrong: at the backend, by the request's deadline, or because the client leaves. */
export type Fault = 'none' | 'refuse' | 'reset' | 'fin' | 'error' | 'status' | 'oops' | 'short' | 'deadline' | Leave

const LEAVES: readonly Leave[] = ['close', 'abort', 'end']

const FAULTS: Record<Phase, readonly Fault[]> = {
  upload: LEAVES,
  connect: ['none', 'refuse', 'deadline', ...LEAVES],
  queue: ['none', 'deadline', ...LEAVES],
  request: ['none', 'reset', 'fin', 'status', 'oops', 'error', 'deadline', ...LEAVES],
  head: ['reset', 'fin', 'deadline', ...LEAVES],
  prelude: ['reset', 'fin', 'error', 'short', 'deadline', ...LEAVES],
  content: ['reset', 'fin', 'error', 'short', 'deadline', ...LEAVES],
  finish: ['reset', 'fin', 'short', ...LEAVES],
}

/** One request and what happens to it. */
export interface Draw {
  id: string
  dialect: WireDialect
  stream: boolean
  phase: Phase
  fault: Fault
  /** Whether the second backend is of any help. */
  secondWell: boolean
}

/** Numbers from 0 up to 1, the same ones for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export function draws(count: number, seed: number, dialects: readonly WireDialect[]): Draw[] {
  const next = random(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)]!
  return Array.from({ length: count }, (_, i) => {
    const phase = pick(Object.keys(FAULTS) as Phase[])
    // Only streams have events.
    const stream = phase === 'finish' || next() < 0.5
    const faults = FAULTS[phase].filter(fault => stream || !isEvent(phase, fault))
    return { id: `draw-${i}`, dialect: pick(dialects), stream, phase, fault: pick(faults), secondWell: next() < 0.75 }
  })
}

const isEvent = (phase: Phase, fault: Fault) => phase !== 'request' && (fault === 'error' || fault === 'short')

export const isLeave = (fault: Fault): fault is Leave => (LEAVES as readonly Fault[]).includes(fault)

export const describeDraw = ({ id, dialect, stream, phase, fault, secondWell }: Draw) =>
  `${id}: ${dialect.name} ${stream ? 'stream' : 'plain'}, ${phase}, ${fault}, second ${secondWell ? 'well' : 'down'}`

/** The model, which decides over the route: see the test's resources. */
export function modelOf({ phase, fault }: Draw): string {
  if (phase === 'queue') return 'narrow'
  if (phase !== 'connect') return 'm'
  return fault === 'refuse' ? 'refused' : fault === 'none' ? 'dark' : 'darker'
}

/** What the first backend does. */
export function firstScript(draw: Draw): Script {
  const { dialect, stream, phase, fault } = draw
  if (phase === 'queue') return [pause(50), stream ? streamed(dialect) : answered(dialect)]
  if (phase === 'request' && fault === 'none') return stream ? streamed(dialect) : answered(dialect)
  return [...beginning(draw), ...failing(draw)]
}

export const secondScript = ({ secondWell, stream, dialect }: Draw): Script =>
  secondWell ? (stream ? streamed(dialect) : answered(dialect)) : status(dialect, 503)

function beginning({ dialect, stream, phase }: Draw): Script {
  if (phase === 'request') return []
  if (!stream) {
    // Longer than what is held back to be judged.
    const whole = phase === 'content' ? jsonResponse(200, { id: 'x'.repeat(100_000) }) : dialect.answer
    const lengths = { head: whole.indexOf('\r\n\r\n') + 4, prelude: whole.length - 9, content: 90_000 }
    return [write(cutAt(whole, [lengths[phase as keyof typeof lengths]])[0]!)]
  }
  const { events, prelude } = dialect
  const counts = { head: 0, prelude, content: prelude + 1, finish: events.length - 1 }
  const sent = events.slice(0, counts[phase as keyof typeof counts])
  return [write(streamHead(), ...sent.map(event => chunk(event)))]
}

function failing({ dialect, phase, fault }: Draw): Script {
  switch (fault) {
    case 'reset':
      // RST throws away what the system has not sent yet.
      return [pause(50), reset()]
    case 'fin':
      return [fin()]
    case 'status':
      return status(dialect, 429)
    case 'oops':
      return [write(responseHead(200, [['content-type', 'application/json']]), 'oops'), fin()]
    case 'error':
      return phase === 'request'
        ? [write(jsonResponse(200, dialect.errorBody('broken')))]
        : [write(chunk(dialect.errorEvent('broken')), LAST_CHUNK)]
    case 'short':
      return [write(LAST_CHUNK)]
    default:
      return [stall()]
  }
}

const status = (dialect: WireDialect, code: number): Script => [write(jsonResponse(code, dialect.errorBody('no')))]

export interface Expected {
  ends: readonly End[]
  /** Fewest and most requests that the first and the second backend get. */
  first: readonly [number, number]
  second: readonly [number, number]
}

/** What may come of a draw. */
export function expectedOf({ phase, fault, stream, secondWell }: Draw): Expected {
  const committed = phase === 'content' || phase === 'finish'
  const reaches = phase === 'upload' || phase === 'connect' ? 0 : 1
  // Half-closed within its body a request is malformed, and somebody may be left to read that.
  const ends: End[] = phase === 'upload' && fault === 'end' ? ['error answer'] : ['cut']
  if (isLeave(fault)) return { ends, first: [0, reaches], second: [0, 0] }
  if (fault === 'deadline') {
    // On a slow machine it comes earlier than the phase; in the queue, later than the answer.
    const late: End[] = phase === 'queue' ? ['complete'] : committed ? [stream ? 'error event' : 'cut'] : []
    return { ends: ['error answer', ...late], first: [0, reaches], second: [0, 0] }
  }
  if (phase === 'finish') return { ends: ['complete'], first: [1, 1], second: [0, 0] }
  if (committed) {
    // On a slow machine RST may still have thrown away what was to be the commit.
    const early: End[] = !stream && fault === 'reset' ? [secondWell ? 'complete' : 'error answer'] : []
    return { ends: [stream ? 'error event' : 'cut', ...early], first: [1, 1], second: [0, early.length * 2] }
  }
  if (fault === 'none' && phase !== 'connect') return { ends: ['complete'], first: [1, 1], second: [0, 0] }
  // Another try of the second backend is made within its budget.
  if (!secondWell) return { ends: ['error answer'], first: [reaches, reaches], second: [1, 2] }
  return { ends: ['complete'], first: [reaches, reaches], second: [1, 1] }
}
