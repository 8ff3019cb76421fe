import { count, type Dialect, isObject, type Observation, parseObject, type Usage } from './dialect.ts'
import { ERRORS, type ErrorCode } from './errors.ts'
import { eachEvent } from './sse.ts'

/** Anthropic's Messages API. */
export const anthropic: Dialect = {
  name: 'anthropic',
  provider: 'Anthropic',
  keyHeaders: ['x-api-key', 'authorization', 'api-key', 'x-goog-api-key'],
  idHeaders: ['x-request-id', 'request-id'],

  status: (code, status) => status ?? anthropicStatus(code),

  errorBody: (code, message, _param, requestId) => JSON.stringify(errorObject(code, message, requestId)),

  errorEvent: (code, message, requestId) =>
    `event: error\ndata: ${JSON.stringify(errorObject(code, message, requestId))}\n\n`,

  classify(event, data, seen) {
    const body = parseObject(data)
    if (!body) return 'Content'
    const type = typeof body.type === 'string' ? body.type : event
    note(type, body, seen)
    if (type === 'error') return 'Error'
    if (type === 'message_start' || type === 'ping') return 'Prelude'
    if (type === 'content_block_start' && isObject(body.content_block)) {
      const block = body.content_block
      return block.text === '' || block.thinking === '' ? 'Prelude' : 'Content'
    }
    return 'Content'
  },

  observe(events, seen) {
    // Only four event types matter after the commit; deltas, the many, hold none of these needles outside of content.
    if (
      events.includes('"message_', 0, 'latin1') ||
      events.includes('event: error', 0, 'latin1') ||
      events.includes('"error"', 0, 'latin1')
    ) {
      eachEvent(events, (event, data) => {
        const body = parseObject(data)
        if (body) note(typeof body.type === 'string' ? body.type : event, body, seen)
      })
    }
  },

  usage: value => {
    if (!isObject(value)) return null
    return { input: inputTokens(value), output: count(value.output_tokens) } satisfies Usage
  },

  isErrorBody: body =>
    isObject(body) && body.type === 'error' && isObject(body.error) && typeof body.error.message === 'string',
}

function anthropicStatus(code: ErrorCode): number {
  const entry: { status: number; anthropicStatus?: number } = ERRORS[code]
  return entry.anthropicStatus ?? entry.status
}

function errorObject(code: ErrorCode, message: string, requestId: string) {
  return { type: 'error', error: { type: ERRORS[code].anthropic, message }, request_id: requestId }
}

/** Anthropic counts cached input apart; a caller's input is the sum. */
function inputTokens(usage: Record<string, unknown>): number {
  return count(usage.input_tokens) + count(usage.cache_creation_input_tokens) + count(usage.cache_read_input_tokens)
}

function note(type: string, body: Record<string, unknown>, seen: Observation): void {
  if (type === 'message_start' && isObject(body.message)) {
    seen.usage = anthropic.usage(body.message.usage)
  } else if (type === 'message_delta') {
    if (isObject(body.delta) && body.delta.stop_reason) seen.finished = true
    if (isObject(body.usage)) {
      // message_start brought the input; newer servers repeat it here, older ones do not.
      seen.usage = {
        input: inputTokens(body.usage) || (seen.usage?.input ?? 0),
        output: count(body.usage.output_tokens),
      }
    }
  } else if (type === 'message_stop') {
    seen.terminated = true
  } else if (type === 'error') {
    seen.failed = true
  }
}
