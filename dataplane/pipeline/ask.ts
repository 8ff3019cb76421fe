import { GatewayError } from '../dialects/errors.ts'
import { JsonScanError, readValue, scanTopLevel } from '../dialects/json-scan.ts'

const WANTED = ['model', 'stream'] as const

/** Bytes of English text and JSON that make one token, until returned usage teaches better. */
const BYTES_PER_TOKEN = 3.5

/** What the gateway needs to know of a request's body. */
export interface AskedFor {
  model: string
  stream: boolean
  /** Where the model's name stands in the body, as a JSON value. */
  modelStart: number
  modelEnd: number
}

/**
 * Reads model and stream from a request body without parsing the rest.
 *
 * @throws GatewayError invalid_json when it is no JSON object; invalid_request when model or stream are unusable
 */
export function readAsk(bytes: Buffer): AskedFor {
  try {
    const found = scanTopLevel(bytes, WANTED)
    if (found.duplicate) throw invalid(found.duplicate, `"${found.duplicate}" stands twice in the request body.`)
    if (found.lookalike) {
      const name = found.lookalike.toUpperCase().toLowerCase()
      throw invalid(name, `${JSON.stringify(found.lookalike)} could be taken for "${name}". Write it in lower case.`)
    }
    const model = readValue(bytes, found, 0)
    const stream = readValue(bytes, found, 1)
    if (model === undefined) throw invalid('model', 'The request body has no "model". Name the model to use.')
    if (typeof model !== 'string' || model === '') throw invalid('model', '"model" must be a string that is not empty.')
    if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
      throw invalid('stream', '"stream" must be true or false.')
    }
    return { model, stream: stream === true, modelStart: found.starts[0]!, modelEnd: found.ends[0]! }
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error
    throw new GatewayError('invalid_json', `The request body must be a JSON object: ${error.message}.`)
  }
}

/** Prompt tokens by size; never a tokenizer, which would block the loop. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** The body with the model's name exchanged, everything else as it came; the same buffer where nothing changes. */
export function withModel(bytes: Buffer, ask: AskedFor, name: string | undefined): Buffer {
  if (name === undefined || name === ask.model) return bytes
  const value = Buffer.from(JSON.stringify(name))
  return Buffer.concat([bytes.subarray(0, ask.modelStart), value, bytes.subarray(ask.modelEnd)])
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_request', message, { param })
}
