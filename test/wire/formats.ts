import { jsonRequest } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { anthropicEvent, anthropicEvents, chatChunk, chatEvents, sse } from '../fakes/sse.ts'

/** What the wire cases need of one dialect, as literally as a provider would write it. */
export interface Format {
  dialect: 'openai' | 'anthropic'
  provider: 'OpenAI' | 'Anthropic'
  /** What clients call. */
  path: string
  /** What a caller puts into the body besides the model. */
  rest: object
  /** A whole JSON answer with usage 3 + 2, its spaces and digits such as no serialiser would make. */
  answer: string
  /** What comes before the content of a stream. */
  prelude: string[]
  /** One event with content. */
  content(text: string): string
  /** The events after the content, up to and with the terminator. */
  ending: string[]
  /** A whole stream. */
  stream(words: string[]): string[]
  /** The terminator, which a broken stream must not have. */
  terminator: string
  /** The body of an upstream's own error; `code` where the dialect has one. */
  error(type: string, message: string, code?: string | number): string
  /** An error as an event in a stream. */
  errorEvent(type: string, message: string): string
}

const chatEnding = chatEvents([]).slice(1)
const messageEvents = anthropicEvents([])

export const OPENAI: Format = {
  dialect: 'openai',
  provider: 'OpenAI',
  path: '/v1/chat/completions',
  rest: { messages: [{ role: 'user', content: 'hello' }] },
  answer:
    '{ "id":"chatcmpl-1","object":"chat.completion","choices":[ {"index":0,"message":{"role":"assistant",' +
    '"content":"gr\\u00fc\\u00df \u{1f30a} ü"},"finish_reason":"stop"}],\n "seed":9007199254740993, "n":1.10,' +
    '"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n',
  prelude: [chatChunk({ role: 'assistant', content: '' })],
  content: text => chatChunk({ content: text }),
  ending: chatEnding,
  stream: chatEvents,
  terminator: '[DONE]',
  error: (type, message, code) => JSON.stringify({ error: { message, type, param: null, code: code ?? null } }),
  errorEvent: (type, message) => sse({ error: { message, type, param: null, code: null } }),
}

export const ANTHROPIC: Format = {
  dialect: 'anthropic',
  provider: 'Anthropic',
  path: '/v1/messages',
  rest: { max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] },
  answer:
    '{ "id":"msg_1","type":"message","role":"assistant","content":[ {"type":"text","text":"gr\\u00fc\\u00df \u{1f30a} ü"}],\n' +
    ' "stop_reason":"end_turn", "seed":9007199254740993, "n":1.10,"usage":{"input_tokens":3,"output_tokens":2}}\n',
  prelude: messageEvents.slice(0, 3),
  content: text => anthropicEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  ending: messageEvents.slice(3),
  stream: anthropicEvents,
  terminator: 'message_stop',
  error: (type, message) => JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_upstream' }),
  errorEvent: (type, message) => anthropicEvent('error', { error: { type, message } }),
}

export const FORMATS = [OPENAI, ANTHROPIC]

/** The bytes of a request for `model`; further fields of the body in `more`. */
export function ask(format: Format, model: string, more: object = {}, headers: readonly Header[] = []): Buffer {
  return jsonRequest(format.path, { model, ...format.rest, ...more }, headers)
}
