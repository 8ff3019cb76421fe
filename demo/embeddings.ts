import { type Fields, Refusal, text, whole } from './fields.ts'
import { hash } from './hash.ts'
import { MODEL, requireModel } from './openai.ts'
import { countTokens, tokenize } from './tokenizer.ts'

const DEFAULT_DIMENSIONS = 256
const MAX_DIMENSIONS = 1024
// The limits of the OpenAI API.
const MAX_INPUTS = 2048
const MAX_TOKENS_EACH = 8192
const MAX_TOKENS = 300_000

/** Each token moves this many dimensions, so that texts which share words have similar vectors. */
const DIMENSIONS_PER_TOKEN = 8

interface Input {
  tokens: string[]
}

function bad(message: string): Refusal {
  return new Refusal(400, `input: ${message}`, { param: 'input' })
}

function isTokenIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(id => Number.isInteger(id) && id >= 0)
}

function one(value: unknown): Input {
  if (typeof value === 'string' && value !== '') {
    if (countTokens(value) > MAX_TOKENS_EACH) throw bad(`each text may have at most ${MAX_TOKENS_EACH} tokens`)
    return { tokens: tokenize(value.toLowerCase()).map(token => token.trim()) }
  }
  if (isTokenIds(value)) {
    if (value.length > MAX_TOKENS_EACH) throw bad(`each text may have at most ${MAX_TOKENS_EACH} tokens`)
    return { tokens: value.map(id => `#${id}`) }
  }
  throw bad('must be a text, a list of texts, or lists of token numbers; none may be empty')
}

function inputs(value: unknown): Input[] {
  if (value === undefined) throw bad('this field is required')
  if (!Array.isArray(value) || isTokenIds(value)) return [one(value)]
  if (value.length === 0 || value.length > MAX_INPUTS) throw bad(`must have from 1 to ${MAX_INPUTS} entries`)
  return value.map(one)
}

/** The unit vector of `tokens` (32-bit floats): the sum of a few signed dimensions chosen by the hash of each token. */
export function vectorOf(tokens: readonly string[], dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const token of tokens) {
    for (let i = 0; i < DIMENSIONS_PER_TOKEN; i++) {
      const h = hash(token, i + 1)
      vector[(h >>> 1) % dimensions]! += h & 1 ? 1 : -1
    }
  }
  const length = Math.hypot(...vector)
  // White space alone, or tokens that cancel out, still need a direction.
  if (length === 0) vector[0] = 1
  else for (let i = 0; i < dimensions; i++) vector[i]! /= length
  return vector
}

/** `POST /v1/embeddings`. Equal texts get equal vectors, and texts that share words get similar ones. */
export function embeddings(fields: Fields): unknown {
  requireModel(text(fields, 'model'))
  const list = inputs(fields.input)
  const total = list.reduce((sum, input) => sum + input.tokens.length, 0)
  if (total > MAX_TOKENS) throw bad(`a request may have at most ${MAX_TOKENS} tokens`)
  const dimensions = whole(fields, 'dimensions', 1, MAX_DIMENSIONS) ?? DEFAULT_DIMENSIONS
  const format = fields.encoding_format ?? 'float'
  if (format !== 'float' && format !== 'base64') {
    throw new Refusal(400, 'encoding_format: must be float or base64', { param: 'encoding_format' })
  }
  const data = list.map(({ tokens }, index) => {
    const vector = vectorOf(tokens, dimensions)
    const embedding = format === 'float' ? [...vector] : base64(vector)
    return { object: 'embedding', index, embedding }
  })
  return { object: 'list', data, model: MODEL, usage: { prompt_tokens: total, total_tokens: total } }
}

/** 32-bit little-endian floats, whatever the machine's own order. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  vector.forEach((value, i) => {
    bytes.writeFloatLE(value, i * 4)
  })
  return bytes.toString('base64')
}
