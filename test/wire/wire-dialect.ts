import { chunk, jsonRequest, jsonResponse, LAST_CHUNK } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { anthropicEvent, anthropicEvents, chatEvents, streamHead } from '../fakes/sse.ts'
import { type Script, write } from '../fakes/steps.ts'

export interface AskParts {
  model?: string
  stream?: boolean
  headers?: readonly Header[]
}

/** How a response ended, as its reader sees it. */
export type End = 'complete' | 'error answer' | 'error event' | 'cut'

/** One of the dialects, with the bytes that a client and a provider of it exchange. */
export interface WireDialect {
  name: 'openai' | 'anthropic'
  provider: 'OpenAI' | 'Anthropic'
  /** The exact bytes of a request. */
  ask(parts?: AskParts): Buffer
  /** A whole answer that is no stream. */
  answer: Buffer
  /** The events of a complete stream. */
  events: readonly string[]
  /** How many of `events` come before the first content. */
  prelude: number
  /** An error as the provider answers it. */
  errorBody(message: string): object
  /** The same error as an event of a stream. */
  errorEvent(message: string): string
}

const openai: WireDialect = {
  name: 'openai',
  provider: 'OpenAI',
  ask: ({ model = 'm', stream, headers } = {}) =>
    jsonRequest('/v1/chat/completions', { model, stream, messages: [{ role: 'user', content: 'hello' }] }, headers),
  answer: jsonResponse(200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'one two' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  }),
  events: chatEvents(['one', ' two']),
  prelude: 1,
  errorBody: message => ({ error: { message, type: 'server_error', param: null, code: 'broken' } }),
  errorEvent: message => `data: ${JSON.stringify(openai.errorBody(message))}\n\n`,
}

const anthropic: WireDialect = {
  name: 'anthropic',
  provider: 'Anthropic',
  ask: ({ model = 'm', stream, headers = [] } = {}) =>
    jsonRequest('/v1/messages', { model, stream, max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }, [
      ['anthropic-version', '2023-06-01'],
      ...headers,
    ]),
  answer: jsonResponse(200, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'one two' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  }),
  events: anthropicEvents(['one', ' two']),
  prelude: 3,
  errorBody: message => ({ type: 'error', error: { type: 'overloaded_error', message } }),
  errorEvent: message => anthropicEvent('error', { error: { type: 'overloaded_error', message } }),
}

export const DIALECTS: readonly WireDialect[] = [openai, anthropic]

/** The whole answer that a request asks for, in one write. */
export const answered = (dialect: WireDialect): Script => [write(dialect.answer)]

/** The whole stream that a request asks for, in one write. */
export const streamed = ({ events }: WireDialect): Script => [
  write(streamHead(), ...events.map(event => chunk(event)), LAST_CHUNK),
]

/**
 * How the response ended. Throws when it is not well formed: an event or a body that its dialect does not know, more
 * than one end, anything after the end, an error that passes for a success.
 */
export function endOf(dialect: WireDialect, response: RawResponse): End {
  if (!response.ending) throw new Error('the response still runs')
  if (!response.hasHead) return 'cut'
  if (response.header('content-type')?.startsWith('text/event-stream')) return endOfStream(dialect, response)
  if (response.ending === 'cut') return 'cut'
  if (!response.clean) throw new Error(`nothing tells the end of the body (${response.ending})`)
  if (response.status >= 400) {
    requireError(dialect, response.json(), response.text)
    return 'error answer'
  }
  const whole = dialect.answer.toString()
  if (!whole.endsWith(`\r\n\r\n${response.text}`)) throw new Error(`not what the backend sent: ${response.text}`)
  return 'complete'
}

function endOfStream(dialect: WireDialect, response: RawResponse): End {
  if (response.status !== 200) throw new Error(`a stream with status ${response.status}`)
  const { text } = response
  const blocks = text.split('\n\n')
  const rest = blocks.pop()!
  const events = blocks.filter(block => !block.startsWith(':'))
  const ends = events.flatMap((event, i) => {
    const kind = endKind(dialect, event)
    return kind ? [{ kind, last: i === events.length - 1 }] : []
  })
  if (ends.length > 1) throw new Error(`${ends.length} ends: ${text}`)
  if (events.filter(event => event.includes('"message_start"')).length > 1) throw new Error(`began twice: ${text}`)
  if (ends[0] && (!ends[0].last || rest !== '')) throw new Error(`something follows the end: ${text}`)
  if (response.ending === 'cut') return 'cut'
  if (response.clean && ends[0]) return ends[0].kind
  // With a finish reason the answer is whole, even if the terminator was lost.
  if (response.clean && /"(finish|stop)_reason":"/.test(text)) return 'complete'
  throw new Error(`an end that looks like a success and is none: ${text}`)
}

/** What the event ends, if it does. */
function endKind(dialect: WireDialect, event: string): 'complete' | 'error event' | undefined {
  const data = /^data: (.*)$/m.exec(event)?.[1]
  if (data === undefined) throw new Error(`an event without data: ${event}`)
  if (dialect.name === 'openai' && data === '[DONE]') return 'complete'
  const value = JSON.parse(data) as { type?: string; error?: unknown }
  if (value.type === 'message_stop') return 'complete'
  if (value.error === undefined) return undefined
  if (dialect.name === 'anthropic' && !event.startsWith('event: error\n')) throw new Error(`not named: ${event}`)
  requireError(dialect, value, event)
  return 'error event'
}

function requireError(dialect: WireDialect, value: unknown, text: string): void {
  const { type, error } = value as { type?: string; error?: { message?: unknown; type?: unknown } }
  const typed = dialect.name === 'openai' ? type === undefined : type === 'error'
  if (!typed || typeof error?.message !== 'string' || typeof error.type !== 'string') {
    throw new Error(`no error of the ${dialect.name} dialect: ${text}`)
  }
}
