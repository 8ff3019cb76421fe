import { count, type Dialect, isObject, type Observation, parseObject, type Usage } from './dialect.ts'
import { ERRORS, type ErrorCode } from './errors.ts'
import { eachEvent } from './sse.ts'

const QUOTE = 0x22
const LBRACE = 0x7b

/** OpenAI's API, as spoken by the OpenAI SDKs and by every compatible server. */
export const openai: Dialect = {
  name: 'openai',
  provider: 'OpenAI',
  keyHeaders: ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'],
  idHeaders: ['x-request-id'],

  status: (code, status) => status ?? ERRORS[code].status,

  errorBody: (code, message, param) => JSON.stringify({ error: errorObject(code, message, param) }),

  errorEvent: (code, message) => `data: ${JSON.stringify({ error: errorObject(code, message) })}\n\n`,

  classify(_event, data, seen) {
    if (data === '[DONE]') {
      seen.terminated = true
      return 'Content'
    }
    const body = parseObject(data)
    if (!body) return 'Content'
    if (body.error) {
      seen.failed = true
      return 'Error'
    }
    note(body, seen)
    const choices = Array.isArray(body.choices) ? body.choices.filter(isObject) : []
    // A chunk without choices that is no usage chunk is a provider's own prelude (Azure sends content filter results).
    if (choices.length === 0) return body.usage ? 'Content' : 'Prelude'
    return choices.every(choice => isPrelude(choice)) ? 'Prelude' : 'Content'
  },

  observe(events, seen) {
    if (events.includes('"error"', 0, 'latin1') || valueStartsWith(events, '"usage"', LBRACE)) {
      eachEvent(events, (_event, data) => {
        const body = data.startsWith('{') ? parseObject(data) : undefined
        if (!body) return
        if (body.error) seen.failed = true
        note(body, seen)
      })
    } else if (!seen.finished && valueStartsWith(events, '"finish_reason"', QUOTE)) {
      seen.finished = true
    }
    if (hasDone(events)) seen.terminated = true
  },

  usage: value => {
    if (!isObject(value)) return null
    return { input: count(value.prompt_tokens), output: count(value.completion_tokens) } satisfies Usage
  },

  isErrorBody: body => isObject(body) && isObject(body.error) && typeof body.error.message === 'string',
}

function errorObject(code: ErrorCode, message: string, param?: string) {
  return { message, type: ERRORS[code].openai, param: param ?? null, code }
}

/** Role-only and empty deltas: nothing that a caller would miss. */
function isPrelude(choice: Record<string, unknown>): boolean {
  if (choice.finish_reason) return false
  // `text` belongs to completions, `delta` to chat.
  if (typeof choice.text === 'string') return choice.text === ''
  if (!isObject(choice.delta)) return false
  return Object.entries(choice.delta).every(
    ([key, value]) => key === 'role' || value === null || value === '' || (Array.isArray(value) && value.length === 0),
  )
}

function note(body: Record<string, unknown>, seen: Observation): void {
  if (body.usage) seen.usage = openai.usage(body.usage)
  if (Array.isArray(body.choices) && body.choices.some(choice => isObject(choice) && choice.finish_reason)) {
    seen.finished = true
  }
}

/**
 * Whether `"key":` is followed by a value that starts with `byte`. Inside a JSON string the key's quotes would be
 * escaped, so the needle cannot match content.
 */
function valueStartsWith(bytes: Buffer, key: string, byte: number): boolean {
  for (let at = bytes.indexOf(key, 0, 'latin1'); at >= 0; at = bytes.indexOf(key, at, 'latin1')) {
    at += key.length
    let i = at
    while (bytes[i] === 0x20 || bytes[i] === 0x3a) i++
    if (bytes[i] === byte) return true
  }
  return false
}

/** `data: [DONE]` as a line of its own; JSON content cannot hold a raw line break before it. */
function hasDone(events: Buffer): boolean {
  const at = events.lastIndexOf('[DONE]', undefined, 'latin1')
  if (at < 5) return false
  const start = events[at - 1] === 0x20 ? at - 6 : at - 5
  if (start < 0 || events.toString('latin1', start, start + 5) !== 'data:') return false
  return start === 0 || events[start - 1] === 10 || events[start - 1] === 13
}
