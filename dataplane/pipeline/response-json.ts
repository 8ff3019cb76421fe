import type { IncomingHttpHeaders } from 'node:http'
import { type Observation, parseObject } from '../dialects/dialect.ts'
import type { ErrorCode } from '../dialects/errors.ts'
import { JsonScanError, readValue, scanTopLevel, type TopLevel } from '../dialects/json-scan.ts'
import type { AttemptClient, ResponseBody } from './attempt.ts'
import { decode } from './decode.ts'
import type { Outcome } from './outcome.ts'

/** Bytes that are held until a response can be judged; a longer one is judged by its beginning. */
export const MAX_HELD_BYTES = 64 * 1024

/** Bytes at the end of a longer one in which its usage is looked for: every provider writes it last. */
const TAIL_BYTES = 8 * 1024

/** Most closing braces that are tried as the end of the usage; the details inside it are few. */
const MAX_BRACES = 16

const WANTED = ['error', 'usage'] as const

/**
 * A response that comes as one JSON document. A small one is held until its end, so that an error in a 200 or a
 * document that is none can still go to the next backend; then its bytes pass as they came.
 */
export class JsonResponse implements ResponseBody {
  readonly #client: AttemptClient
  readonly #status: number
  readonly #headers: IncomingHttpHeaders
  readonly #seen: Observation
  #held: Buffer[] = []
  #heldBytes = 0
  #committed = false
  /** The last bytes of what was passed on before the end. */
  #tail: Buffer = Buffer.alloc(0)
  /** Found to be no answer; the attempt ends at the next wake. */
  #bad: Outcome | null = null

  constructor(client: AttemptClient, status: number, headers: IncomingHttpHeaders, seen: Observation) {
    this.#client = client
    this.#status = status
    this.#headers = headers
    this.#seen = seen
  }

  data(chunk: Buffer): boolean {
    if (this.#committed) return this.#pass(chunk)
    if (this.#bad) return true
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes <= MAX_HELD_BYTES) return true
    const beginning = Buffer.concat(this.#held)
    this.#held = []
    if (!this.#compressed && !looksLikeJson(beginning)) {
      this.#bad = { kind: 'BadResponse', reason: 'it answered 200 with something that is no JSON' }
      return true
    }
    this.#commit()
    return this.#pass(beginning)
  }

  end(): Outcome {
    if (this.#committed) {
      this.#seen.usage = this.#client.dialect.usage(lastUsage(this.#tail))
      this.#client.response.end()
      return { kind: 'Done' }
    }
    const bytes = Buffer.concat(this.#held)
    const bad = this.#bad ?? this.#judge(bytes)
    if (bad) return bad
    this.#commit()
    this.#client.response.end(bytes)
    return { kind: 'Done' }
  }

  cut(reason: string, { code }: { code: ErrorCode }): Outcome {
    if (!this.#committed) return { kind: 'Reset', reason }
    // There is no error event in a JSON document: only a cut connection tells the client that it is not whole.
    this.#client.response.destroy()
    return { kind: 'Broken', reason, code }
  }

  wakeAt(): number {
    return this.#bad ? 0 : Number.POSITIVE_INFINITY
  }

  wake(): Outcome | null {
    return this.#bad
  }

  #pass(bytes: Buffer): boolean {
    if (!this.#compressed) {
      const last = bytes.length < TAIL_BYTES ? Buffer.concat([this.#tail, bytes]) : bytes
      this.#tail = last.subarray(-TAIL_BYTES)
    }
    return this.#client.response.write(bytes)
  }

  get #compressed(): boolean {
    const encoding = this.#headers['content-encoding']
    return encoding !== undefined && encoding !== 'identity'
  }

  #commit(): void {
    this.#committed = true
    this.#client.commit(this.#status, this.#headers)
  }

  /** Looks for an error and for usage in the whole document; an outcome if it cannot be passed on. */
  #judge(bytes: Buffer): Outcome | null {
    const document = decode(bytes, this.#headers['content-encoding'])
    // An encoding that we do not know: the bytes pass, unjudged.
    if (!document) return null
    try {
      const found = scanTopLevel(document, WANTED)
      const error = readValue(document, found, 0)
      if (error) return inBandError(document, error, this.#headers)
      this.#seen.usage = this.#client.dialect.usage(usageOf(document, found))
      return null
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error
      return { kind: 'BadResponse', reason: `it answered ${this.#status} with something that is no JSON object` }
    }
  }
}

function usageOf(document: Buffer, found: TopLevel): unknown {
  try {
    return readValue(document, found, 1)
  } catch {
    return undefined
  }
}

/** The last `"usage": {…}` of a document. Inside a string the key's quotes would be escaped: it is never content. */
function lastUsage(tail: Buffer): unknown {
  const text = tail.toString('utf8')
  const found = [...text.matchAll(/"usage"\s*:\s*(?=\{)/g)].at(-1)
  if (!found) return undefined
  const start = found.index + found[0].length
  let end = start
  for (let i = 0; i < MAX_BRACES; i++) {
    end = text.indexOf('}', end) + 1
    if (end === 0) break
    const usage = parseObject(text.slice(start, end))
    if (usage) return usage
  }
  return undefined
}

/** An error that came with a good status: the status that its code names, where it names one. */
export function inBandError(body: Buffer, error: unknown, headers: IncomingHttpHeaders): Outcome {
  const code = Number((error as { code?: unknown } | null)?.code)
  const status = code >= 400 && code <= 599 ? code : 502
  return { kind: 'BadResponse', reason: 'it answered 200 with an error inside', answer: { status, headers, body } }
}

function looksLikeJson(bytes: Buffer): boolean {
  const first = bytes.toString('latin1', 0, 64).trimStart()[0]
  return first === '{' || first === '['
}
