import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAX_BODY_BYTES } from './http.ts'
import { type Demo, startDemo } from './server.ts'

let demo: Demo
beforeAll(async () => {
  demo = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 0 })
})
afterAll(() => demo.close())

const hello = { model: 'demo', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }

async function post(
  path: string,
  body: unknown,
  at = demo,
): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(at.url + path, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function generating(at: Demo): Promise<number> {
  const { generating } = (await (await fetch(`${at.url}/health`)).json()) as { generating: number }
  return generating
}

/** Polls for at most 5 s. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let i = 0; !(await condition()); i++) {
    if (i > 250) throw new Error('the condition did not come true within 5 s')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

test('health', async () => {
  const response = await fetch(`${demo.url}/health?from=a-probe`)
  expect(await response.json()).toEqual({ status: 'ok', generating: 0 })
})

test('the same request gets the same answer, but for the time', async () => {
  const timeless = (text: string) => text.replace(/"created":\d+/, '')
  const first = await post('/v1/chat/completions', hello)
  const second = await post('/v1/chat/completions', hello)
  expect(first.status).toBe(200)
  expect(timeless(second.text)).toBe(timeless(first.text))
  expect((await post('/v1/messages', hello)).text).toBe((await post('/v1/messages', hello)).text)
})

test('an OpenAI stream: role, one chunk a token, finish reason, the usage only when asked, [DONE]', async () => {
  const events = async (body: object) => {
    const { text, headers } = await post('/v1/chat/completions', { ...hello, ...body })
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    return text.split('\n\n').slice(0, -1)
  }
  const plain = await events({ stream: true })
  expect(plain.every(event => event.startsWith('data: '))).toBe(true)
  expect(plain.at(-1)).toBe('data: [DONE]')
  expect(plain.some(event => event.includes('usage'))).toBe(false)
  const chunks = plain.slice(0, -1).map(event => JSON.parse(event.slice(6)))
  expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '', refusal: null })
  expect(chunks.at(-1).choices[0]).toEqual({ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' })

  const counted = await events({ stream: true, stream_options: { include_usage: true } })
  expect(counted).toHaveLength(plain.length + 1)
  const last = JSON.parse(counted.at(-2)!.slice(6))
  expect(last.choices).toEqual([])
  expect(last.usage.completion_tokens).toBe(chunks.length - 2)
  expect(JSON.parse(counted[0]!.slice(6)).usage).toBeNull()
})

test('an Anthropic stream has the full sequence of events', async () => {
  const { text } = await post('/v1/messages', { ...hello, max_tokens: 2, stream: true })
  const events = text.split('\n\n').slice(0, -1)
  expect(events.map(event => /^event: (.*)\ndata: \{"type":"(.*?)"/.exec(event)!.slice(1))).toEqual(
    [
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ].map(type => [type, type]),
  )
})

test('max_tokens: 0 is an Anthropic answer without content', async () => {
  const whole = JSON.parse((await post('/v1/messages', { ...hello, max_tokens: 0 })).text)
  expect(whole).toMatchObject({ content: [], stop_reason: 'max_tokens', usage: { output_tokens: 0 } })
  const { text } = await post('/v1/messages', { ...hello, max_tokens: 0, stream: true })
  expect(text).not.toContain('content_block')
})

const chat = '/v1/chat/completions'
test.each([
  [chat, 'oops', 400, 'not valid JSON', null],
  [chat, '[]', 400, 'must be a JSON object', null],
  [chat, { ...hello, messages: undefined }, 400, 'messages: this field is required', 'messages'],
  [chat, { ...hello, messages: [] }, 400, 'at least one message', 'messages'],
  [chat, { ...hello, messages: ['hi'] }, 400, 'messages[0]: must be an object', 'messages[0]'],
  [chat, { ...hello, messages: [{ role: 'me', content: '' }] }, 400, 'must be one of', 'messages[0].role'],
  [chat, { ...hello, messages: [{ role: 'user' }] }, 400, 'a string or a list of parts', 'messages[0].content'],
  [
    chat,
    { ...hello, messages: [{ role: 'user', content: [{ type: 'text' }] }] },
    400,
    'must be a string',
    'messages[0].content[0].text',
  ],
  [chat, { ...hello, model: undefined }, 400, 'model: this field is required', 'model'],
  [chat, { ...hello, model: 'gpt-4o' }, 404, "'gpt-4o' does not exist", 'model'],
  [chat, { ...hello, stream: 'yes' }, 400, 'stream: must be true or false', 'stream'],
  [
    chat,
    { ...hello, stream_options: { include_usage: true } },
    400,
    'only allowed together with stream',
    'stream_options',
  ],
  [chat, { ...hello, max_tokens: 0 }, 400, 'max_tokens: must be a whole number', 'max_tokens'],
  [chat, { ...hello, max_completion_tokens: 1.5 }, 400, 'must be a whole number', 'max_completion_tokens'],
  [chat, { ...hello, stop: ['a', 'b', 'c', 'd', 'e'] }, 400, 'at most 4', 'stop'],
  [chat, { ...hello, stop: '' }, 400, 'strings that are not empty', 'stop'],
  [chat, { ...hello, n: 2 }, 400, 'gives one answer', 'n'],
  [chat, { ...hello, logprobs: true }, 400, 'no log probabilities', 'logprobs'],
  [chat, { ...hello, tool_choice: 'required' }, 400, 'never calls a tool', 'tool_choice'],
  [chat, { ...hello, response_format: { type: 'json_object' } }, 400, 'plain text only', 'response_format'],
  ['/v1/nothing', hello, 404, 'There is nothing at POST /v1/nothing', null],
  ['/v1/models', hello, 405, 'takes GET, not POST', null],
  ['/constructor', hello, 404, 'There is nothing', null],
])('OpenAI: %s %j is refused with %i', async (path, body, status, message, param) => {
  const answer = await post(path, body)
  expect(answer.status).toBe(status)
  const { error } = JSON.parse(answer.text)
  expect(error).toMatchObject({ type: 'invalid_request_error', param })
  expect(error.message).toContain(message)
  expect(Object.keys(error)).toEqual(['message', 'type', 'param', 'code'])
})

test.each([
  ['/v1/messages', 'oops', 400, 'invalid_request_error', 'not valid JSON'],
  [
    '/v1/messages',
    { ...hello, max_tokens: undefined },
    400,
    'invalid_request_error',
    'max_tokens: this field is required',
  ],
  [
    '/v1/messages',
    { ...hello, messages: [{ role: 'user', content: null }] },
    400,
    'invalid_request_error',
    'messages[0].content',
  ],
  ['/v1/messages', { ...hello, system: 3 }, 400, 'invalid_request_error', 'system: must be'],
  ['/v1/messages', { ...hello, stop_sequences: 'x' }, 400, 'invalid_request_error', 'stop_sequences'],
  ['/v1/messages', { ...hello, tool_choice: { type: 'any' } }, 400, 'invalid_request_error', 'never calls a tool'],
  ['/v1/messages', { ...hello, model: 'claude' }, 404, 'not_found_error', 'model: claude'],
  ['/v1/messages/batches', hello, 404, 'not_found_error', 'nothing at POST /v1/messages/batches'],
])('Anthropic: %s %j is refused with %i', async (path, body, status, type, message) => {
  const answer = await post(path, body)
  expect(answer.status).toBe(status)
  const shape = JSON.parse(answer.text)
  expect(shape).toMatchObject({ type: 'error', error: { type } })
  expect(shape.error.message).toContain(message)
  expect(shape.request_id).toBe(answer.headers.get('request-id'))
})

test('a body over the limit is refused, declared or not, in the dialect of the path', async () => {
  const large = `{"model":"demo","x":"${'x'.repeat(MAX_BODY_BYTES)}"}`
  const declared = await post(chat, large)
  expect([declared.status, JSON.parse(declared.text).error.code]).toEqual([413, 'request_too_large'])

  const chunked = await fetch(`${demo.url}/v1/messages`, {
    method: 'POST',
    body: new Blob([large]).stream(),
    duplex: 'half',
  })
  expect(chunked.status).toBe(413)
  expect(await chunked.json()).toMatchObject({ type: 'error', error: { type: 'request_too_large' } })
})

test('GET on a path that takes POST is 405 and says so', async () => {
  const response = await fetch(demo.url + chat)
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
})

test('a malformed model name in the path is a 404, not a failure', async () => {
  expect((await fetch(`${demo.url}/v1/models/%E0%A4%A`)).status).toBe(404)
})

test('generation stops when the client is gone', async () => {
  const slow = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 60_000 })
  try {
    const client = new AbortController()
    const body = JSON.stringify({ ...hello, stream: true })
    const response = await fetch(slow.url + chat, { method: 'POST', body, signal: client.signal })
    expect(response.status).toBe(200)
    expect(await generating(slow)).toBe(1)
    client.abort()
    await until(async () => (await generating(slow)) === 0)
  } finally {
    await slow.close(0)
  }
})

test('streams take their time: a pause before each token', async () => {
  const paced = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 20 })
  try {
    const started = performance.now()
    await post(chat, { ...hello, max_tokens: 10, stream: true }, paced)
    expect(performance.now() - started).toBeGreaterThan(100)
  } finally {
    await paced.close()
  }
})

test('close lets a running stream finish and does not wait for idle connections', async () => {
  const closing = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 10 })
  const response = await fetch(closing.url + chat, { method: 'POST', body: JSON.stringify({ ...hello, stream: true }) })
  const started = performance.now()
  const closed = closing.close(20_000)
  expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/)
  await closed
  expect(performance.now() - started).toBeLessThan(15_000)
  await expect(fetch(`${closing.url}/health`)).rejects.toThrow()
})

test('close cuts what is not done within the grace', async () => {
  const closing = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 60_000 })
  const response = await fetch(closing.url + chat, { method: 'POST', body: JSON.stringify({ ...hello, stream: true }) })
  await closing.close(50)
  await expect(response.text()).rejects.toThrow()
})

test('a port in use is an error with its code', async () => {
  await expect(startDemo({ host: '127.0.0.1', port: demo.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
