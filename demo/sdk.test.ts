import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Demo, startDemo } from './server.ts'
import { countTokens } from './tokenizer.ts'

let demo: Demo
let openai: OpenAI
let anthropic: Anthropic
beforeAll(async () => {
  demo = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 0 })
  openai = new OpenAI({ baseURL: `${demo.url}/v1`, apiKey: 'any', maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: demo.url, apiKey: 'any', maxRetries: 0 })
})
afterAll(() => demo.close())

const QUESTION = 'Why do rivers bend?'

describe('openai', () => {
  const ask = { model: 'demo', messages: [{ role: 'user' as const, content: QUESTION }] }

  test('chat, in one piece and as a stream: the same text, and counts that are true', async () => {
    const whole = await openai.chat.completions.create(ask)
    const text = whole.choices[0]!.message.content!
    expect(text).toContain(QUESTION)
    expect(whole.choices[0]!.finish_reason).toBe('stop')
    expect(whole.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: countTokens(text) })
    expect(whole.usage!.total_tokens).toBe(5 + countTokens(text))

    const stream = await openai.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    })
    let streamed = ''
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of stream) {
      streamed += chunk.choices[0]?.delta.content ?? ''
      usage = chunk.usage
    }
    expect(streamed).toBe(text)
    expect(usage).toEqual(whole.usage)
  })

  test("the SDK's own accumulator accepts the stream", async () => {
    const completion = await openai.chat.completions.stream(ask).finalChatCompletion()
    expect(completion.choices[0]!.message.content).toContain(QUESTION)
  })

  test('limits and stop sequences', async () => {
    const cut = await openai.chat.completions.create({ ...ask, max_completion_tokens: 3 })
    expect(cut.choices[0]!.finish_reason).toBe('length')
    expect(cut.usage!.completion_tokens).toBe(3)
    const stopped = await openai.chat.completions.create({ ...ask, stop: 'rivers' })
    expect(stopped.choices[0]!.finish_reason).toBe('stop')
    expect(stopped.choices[0]!.message.content).not.toContain('rivers')
    expect(stopped.usage!.completion_tokens).toBe(countTokens(stopped.choices[0]!.message.content!))
  })

  test('parts, system prompts and earlier turns are read and counted', async () => {
    const { choices, usage } = await openai.chat.completions.create({
      model: 'demo',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'first' },
        { role: 'assistant', content: null },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'second question' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
      ],
    })
    expect(choices[0]!.message.content).toContain('second question')
    expect(usage!.prompt_tokens).toBe(3 + 1 + 2)
  })

  test('embeddings: the default (base64 on the wire) and float give the same vector', async () => {
    const byDefault = await openai.embeddings.create({ model: 'demo', input: ['a weir', 'a river'] })
    const floats = await openai.embeddings.create({
      model: 'demo',
      input: ['a weir', 'a river'],
      encoding_format: 'float',
    })
    expect(byDefault.data.map(item => item.index)).toEqual([0, 1])
    expect(byDefault.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
    for (const [i, { embedding }] of byDefault.data.entries()) {
      expect([...embedding]).toEqual(floats.data[i]!.embedding)
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
    }
    const short = await openai.embeddings.create({ model: 'demo', input: [1, 2, 3], dimensions: 12 })
    expect(short.data[0]!.embedding).toHaveLength(12)
    expect(short.usage.prompt_tokens).toBe(3)
  })

  test('models', async () => {
    const list = await openai.models.list()
    expect(list.data.map(model => model.id)).toEqual(['demo'])
    expect(await openai.models.retrieve('demo')).toMatchObject({ id: 'demo', object: 'model', owned_by: 'weir' })
    await expect(openai.models.retrieve('gpt')).rejects.toBeInstanceOf(OpenAI.NotFoundError)
  })

  test('errors are the error classes of the SDK', async () => {
    const unknown = openai.chat.completions.create({ ...ask, model: 'gpt-4o' })
    await expect(unknown).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
    await expect(unknown).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    const empty = openai.chat.completions.create({ ...ask, messages: [] })
    await expect(empty).rejects.toBeInstanceOf(OpenAI.BadRequestError)
    await expect(empty).rejects.toMatchObject({ type: 'invalid_request_error', param: 'messages' })
  })
})

describe('anthropic', () => {
  const ask = { model: 'demo', max_tokens: 1000, messages: [{ role: 'user' as const, content: QUESTION }] }

  test('messages, in one piece and as a stream: the same message', async () => {
    const whole = await anthropic.messages.create({ ...ask, system: 'Be kind.' })
    const [block] = whole.content
    const text = block?.type === 'text' ? block.text : ''
    expect(text).toContain(QUESTION)
    expect(whole).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn', stop_sequence: null })
    expect(whole.usage).toMatchObject({ input_tokens: 5 + 3, output_tokens: countTokens(text) })

    const streamed = await anthropic.messages.stream({ ...ask, system: 'Be kind.' }).finalMessage()
    expect(streamed.content).toMatchObject([{ type: 'text', text }])
    expect(streamed).toMatchObject({ stop_reason: 'end_turn' })
    expect(streamed.usage).toMatchObject({ input_tokens: 8, output_tokens: whole.usage.output_tokens })
  })

  test('limits and stop sequences', async () => {
    const cut = await anthropic.messages.create({ ...ask, max_tokens: 3 })
    expect([cut.stop_reason, cut.usage.output_tokens]).toEqual(['max_tokens', 3])
    const stopped = await anthropic.messages.create({ ...ask, stop_sequences: ['rivers'] })
    expect([stopped.stop_reason, stopped.stop_sequence]).toEqual(['stop_sequence', 'rivers'])
  })

  test('count_tokens agrees with the usage', async () => {
    const { max_tokens: _, ...counted } = { ...ask, system: [{ type: 'text' as const, text: 'Be kind.' }] }
    expect(await anthropic.messages.countTokens(counted)).toMatchObject({ input_tokens: 8 })
  })

  test('models', async () => {
    const list = await anthropic.models.list()
    expect(list.data.map(model => model.id)).toEqual(['demo'])
    expect(await anthropic.models.retrieve('demo')).toMatchObject({ id: 'demo', type: 'model' })
    await expect(anthropic.models.retrieve('claude')).rejects.toBeInstanceOf(Anthropic.NotFoundError)
  })

  test('errors are the error classes of the SDK', async () => {
    const unknown = anthropic.messages.create({ ...ask, model: 'claude' })
    await expect(unknown).rejects.toBeInstanceOf(Anthropic.NotFoundError)
    await expect(unknown).rejects.toMatchObject({ status: 404, type: 'not_found_error', requestID: expect.any(String) })
    await expect(anthropic.messages.create({ ...ask, messages: [] })).rejects.toBeInstanceOf(Anthropic.BadRequestError)
  })
})
