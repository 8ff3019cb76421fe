/** What goes over the wire in the benchmarks, made once: the same bytes for every proxy. */

export const API_KEY = 'sk-bench-0123456789abcdef0123456789abcdef'
export const MODEL = 'bench-model'
const PATH = '/v1/chat/completions'
const KB = 1024

/** A request with a body of 1 KB. `headers` are added to those that SDKs send. */
export function chatRequest(host: string, { stream = false, headers = '' } = {}): Buffer {
  const body = padded(
    content => ({ model: MODEL, messages: [{ role: 'user', content }], ...(stream && { stream }) }),
    KB,
  )
  const head =
    `POST ${PATH} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${API_KEY}\r\naccept: application/json\r\n` +
    `content-type: application/json\r\nuser-agent: weir-bench\r\ncontent-length: ${body.length}\r\n${headers}\r\n`
  return Buffer.from(head + body)
}

/** The answer to it: 1 KB of JSON with usage. */
export const completion = Buffer.from(answer())

/** Beginning of a stream, without its first event. */
export const HEADERS = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n' +
    'transfer-encoding: chunked\r\n\r\n',
)

/** An event of about 100 bytes, in a piece of its own of the chunked coding. */
export const streamChunk = chunked(event({ choices: [{ index: 0, delta: { content: ' lorem ipsum' } }] }))

/** The usual end: a finish reason, usage, the terminator. */
export const streamEnd = Buffer.concat([
  chunked(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })),
  chunked(event({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 100, total_tokens: 109 } })),
  chunked('data: [DONE]\n\n'),
  Buffer.from('0\r\n\r\n'),
])

function answer(): string {
  const body = padded(
    content => ({
      id: 'chatcmpl-bench',
      object: 'chat.completion',
      created: 1767225600,
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 290, completion_tokens: 220, total_tokens: 510 },
    }),
    KB,
  )
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** JSON of exactly `bytes` bytes: the text that is put into it is as long as that takes. */
function padded(make: (text: string) => object, bytes: number): string {
  const empty = JSON.stringify(make('')).length
  return JSON.stringify(make('lorem ipsum '.repeat(bytes).slice(0, bytes - empty)))
}

function event(fields: object): string {
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', ...fields })}\n\n`
}

function chunked(text: string): Buffer {
  return Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`)
}
