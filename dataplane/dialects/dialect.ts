import type { ErrorCode } from './errors.ts'

/** Tokens as the provider reports them. `input` includes cached tokens. */
export interface Usage {
  input: number
  output: number
}

/**
 * What one event of a stream means to the commit state machine. `Prelude` events (roles, pings, comments) may be held
 * back; `Content` commits; `Error` before the commit lets the next backend try.
 */
export type EventKind = 'Prelude' | 'Content' | 'Error'

/** What has been seen of one response; filled by the dialect's observers. */
export interface Observation {
  usage: Usage | null
  /** A finish reason was seen: the content is complete even if the terminator is lost. */
  finished: boolean
  /** The dialect's terminator was seen (`[DONE]`, `message_stop`). */
  terminated: boolean
  /** The upstream reported an error inside the response. */
  failed: boolean
}

/** One wire format, as far as the request path needs to know it. */
export interface Dialect {
  readonly name: 'openai' | 'anthropic'
  /** The provider that speaks it natively. */
  readonly provider: 'OpenAI' | 'Anthropic'
  /** Where callers put their key, in the order in which they are tried. */
  readonly keyHeaders: readonly string[]
  /** Where its SDKs look for the id of a request; the first is the one that all answers carry. */
  readonly idHeaders: readonly string[]
  /** The HTTP status of an error; `status` overrides the catalogue's. */
  status(code: ErrorCode, status?: number): number
  /** The body of an error answer. */
  errorBody(code: ErrorCode, message: string, param: string | undefined, requestId: string): string
  /** The event that ends a stream which failed after it had begun. */
  errorEvent(code: ErrorCode, message: string, requestId: string): string
  /** Judges one event before the commit: its `event:` field and its `data:`. */
  classify(event: string, data: string, seen: Observation): EventKind
  /** Looks through a run of whole events after the commit. Must be cheap: it runs for every piece of every stream. */
  observe(events: Buffer, seen: Observation): void
  /** Reads usage from the `usage` value of a JSON response. */
  usage(value: unknown): Usage | null
  /** Whether an upstream's error body is already in this dialect's shape, so that it may pass as it is. */
  isErrorBody(body: unknown): boolean
}

/** Non-negative number, or 0. */
export function count(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

/** A JSON object, or undefined when `text` is none. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
