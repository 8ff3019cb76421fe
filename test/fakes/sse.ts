import { type Bytes, chunk, LAST_CHUNK, responseHead, toBuffer } from './bytes.ts'
import type { Header } from './http-head.ts'
import { type Script, write } from './steps.ts'

/** One server-sent event: the `event` line where there is a name, one `data` line, a blank line. */
export function sse(data: unknown, event?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`
}

export const DONE = sse('[DONE]')

/** An OpenAI chat chunk with one choice. */
export function chatChunk(delta: object, finish: string | null = null): string {
  return sse({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
}

/** The last chunk of a stream whose client asked for the usage. */
export function usageChunk(prompt: number, completion: number): string {
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  return sse({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })
}

/** The events of a complete OpenAI chat stream, one string each. */
export function chatEvents(words: readonly string[]): string[] {
  const content = words.map(word => chatChunk({ content: word }))
  return [chatChunk({ role: 'assistant', content: '' }), ...content, chatChunk({}, 'stop'), DONE]
}

/** An event of the Anthropic Messages API, whose name is the type of its data. */
export function anthropicEvent(type: string, rest: object = {}): string {
  return sse({ type, ...rest }, type)
}

/** The events of a complete Anthropic stream, one string each. */
export function anthropicEvents(
  words: readonly string[],
  usage = { input_tokens: 3, output_tokens: words.length },
): string[] {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: usage.input_tokens, output_tokens: 1 },
  }
  return [
    anthropicEvent('message_start', { message }),
    anthropicEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    anthropicEvent('ping'),
    ...words.map(text => anthropicEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    anthropicEvent('content_block_stop', { index: 0 }),
    anthropicEvent('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    }),
    anthropicEvent('message_stop'),
  ]
}

/** The head of a chunked event stream. */
export function streamHead(headers: readonly Header[] = []): Buffer {
  return responseHead(200, [['content-type', 'text/event-stream'], ...headers, ['transfer-encoding', 'chunked']])
}

/** Steps that send a whole event stream, each event a chunk and a write of its own. */
export function stream(events: readonly Bytes[], headers: readonly Header[] = []): Script {
  return [write(streamHead(headers)), ...events.map(event => write(chunk(event))), write(LAST_CHUNK)]
}

/** The bytes of a whole event stream without its framing. */
export function joined(events: readonly Bytes[]): Buffer {
  return Buffer.concat(events.map(toBuffer))
}
