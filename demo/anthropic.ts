import {
  contentText,
  type Fields,
  flag,
  object,
  question,
  Refusal,
  text,
  texts,
  turns,
  unable,
  whole,
} from './fields.ts'
import { idOf } from './hash.ts'
import { type Call, sendEvents, sendJson } from './http.ts'
import { MODEL } from './openai.ts'
import { type Generated, generate, replyTo } from './reply.ts'
import { countTokens } from './tokenizer.ts'

const ROLES = ['user', 'assistant', 'system']

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
}

/** The error shape of the Anthropic API. */
export function anthropicError({ status, message }: Refusal, requestId: string): unknown {
  return { type: 'error', error: { type: ERROR_TYPES[status] ?? 'api_error', message }, request_id: requestId }
}

function requireModel(model: string): void {
  if (model !== MODEL) throw new Refusal(404, `model: ${model}. The demo serves one model, ${MODEL}.`)
}

const model = { type: 'model', id: MODEL, display_name: 'Weir demo', created_at: '2026-01-01T00:00:00Z' }

/** `GET /v1/models`, asked in the Anthropic dialect. */
export function listModels(): unknown {
  return { data: [model], has_more: false, first_id: MODEL, last_id: MODEL }
}

/** `GET /v1/models/{id}`, asked in the Anthropic dialect. */
export function getModel(id: string): unknown {
  requireModel(id)
  return model
}

interface Prompt {
  question: string
  tokens: number
}

function prompt(fields: Fields): Prompt {
  requireModel(text(fields, 'model'))
  const conversation = turns(fields, ROLES, [])
  const system = fields.system === undefined ? '' : contentText(fields.system, 'system')
  const choice = object(fields, 'tool_choice')
  if (choice && choice.type !== 'auto' && choice.type !== 'none') {
    throw unable('tool_choice', 'never calls a tool; use auto or none')
  }
  return {
    question: question(conversation),
    tokens: conversation.reduce((sum, turn) => sum + countTokens(turn.text), countTokens(system)),
  }
}

/** `POST /v1/messages/count_tokens` */
export function countMessageTokens(fields: Fields): unknown {
  return { input_tokens: prompt(fields).tokens }
}

function stopReason({ end }: Generated): string {
  return end === 'limit' ? 'max_tokens' : end === 'stopSequence' ? 'stop_sequence' : 'end_turn'
}

/** `POST /v1/messages`, stream and not. Sampling parameters have no effect: there is only one answer. */
export async function messages(call: Call, fields: Fields, input: string): Promise<void> {
  const asked = prompt(fields)
  const limit = whole(fields, 'max_tokens', 0)
  if (limit === undefined) throw new Refusal(400, 'max_tokens: this field is required')
  const stream = flag(fields, 'stream')
  const stops = texts(fields, 'stop_sequences', { max: 64, single: false })
  const generated = generate(replyTo(asked.question), limit, stops)

  const message = {
    id: idOf('msg_demo_', input),
    type: 'message',
    role: 'assistant',
    model: MODEL,
    content: generated.tokens.length > 0 ? [{ type: 'text', text: generated.tokens.join('') }] : [],
    stop_reason: stopReason(generated),
    stop_sequence: generated.stopSequence,
    usage: {
      input_tokens: asked.tokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: generated.tokens.length,
    },
  }
  if (stream) return sendEvents(call, events(message, generated))
  sendJson(call.res, 200, message)
}

type DemoMessage = { stop_reason: string; stop_sequence: string | null; usage: { output_tokens: number } }

/** The order of the real API: the ping comes after the first block has been opened. */
function* events(message: DemoMessage, generated: Generated): Generator<{ text: string; paced?: boolean }> {
  const event = (type: string, rest: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
  const begun = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...message.usage, output_tokens: 0 },
  }

  yield { text: event('message_start', { message: begun }) }
  if (generated.tokens.length > 0) {
    yield { text: event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) }
    yield { text: event('ping') }
    for (const piece of generated.tokens) {
      yield {
        text: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece } }),
        paced: true,
      }
    }
    yield { text: event('content_block_stop', { index: 0 }) }
  }
  const { stop_reason, stop_sequence, usage } = message
  yield { text: event('message_delta', { delta: { stop_reason, stop_sequence }, usage }) }
  yield { text: event('message_stop') }
}
