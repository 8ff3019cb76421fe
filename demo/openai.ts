import { type Fields, flag, object, question, Refusal, text, texts, turns, unable, whole } from './fields.ts'
import { idOf } from './hash.ts'
import { type Call, sendEvents, sendJson } from './http.ts'
import { type Generated, generate, replyTo } from './reply.ts'
import { countTokens } from './tokenizer.ts'

/** The one model of the demo, for every operation. */
export const MODEL = 'demo'

/** A fixed time, so that the list of models never changes: 2026-01-01T00:00:00Z. */
const MODEL_CREATED = 1_767_225_600

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/** The error shape of the OpenAI API. */
export function openaiError({ status, message, param, code }: Refusal): unknown {
  return { error: { message, type: status >= 500 ? 'server_error' : 'invalid_request_error', param, code } }
}

/** Refuses every model but `demo`, as the OpenAI API refuses one that it does not have. */
export function requireModel(model: string): void {
  if (model === MODEL) return
  throw new Refusal(404, `The model '${model}' does not exist. The demo serves one model, '${MODEL}'.`, {
    code: 'model_not_found',
    param: 'model',
  })
}

const model = { id: MODEL, object: 'model', created: MODEL_CREATED, owned_by: 'weir' }

/** `GET /v1/models` */
export function listModels(): unknown {
  return { object: 'list', data: [model] }
}

/** `GET /v1/models/{id}` */
export function getModel(id: string): unknown {
  requireModel(id)
  return model
}

function refuseTheImpossible(fields: Fields): void {
  if ((whole(fields, 'n', 1) ?? 1) > 1) throw unable('n', 'gives one answer; leave n out or set it to 1')
  if (flag(fields, 'logprobs')) throw unable('logprobs', 'has no log probabilities')
  const format = object(fields, 'response_format')
  if (format && format.type !== 'text') throw unable('response_format', 'writes plain text only')
  const choice = fields.tool_choice
  if (choice !== undefined && choice !== null && choice !== 'none' && choice !== 'auto') {
    throw unable('tool_choice', 'never calls a tool; use auto or none')
  }
}

function finishReason({ end }: Generated): 'length' | 'stop' {
  return end === 'limit' ? 'length' : 'stop'
}

/** `POST /v1/chat/completions`, stream and not. Sampling parameters have no effect: there is only one answer. */
export async function chatCompletions(call: Call, fields: Fields, input: string): Promise<void> {
  requireModel(text(fields, 'model'))
  const conversation = turns(fields, ROLES, ['assistant'])
  const stream = flag(fields, 'stream')
  const options = object(fields, 'stream_options')
  if (options && !stream) {
    throw new Refusal(400, 'stream_options: only allowed together with stream: true', { param: 'stream_options' })
  }
  const includeUsage = options ? flag(options, 'include_usage') : false
  refuseTheImpossible(fields)
  const limit = Math.min(
    whole(fields, 'max_tokens', 1) ?? Number.POSITIVE_INFINITY,
    whole(fields, 'max_completion_tokens', 1) ?? Number.POSITIVE_INFINITY,
  )
  const generated = generate(replyTo(question(conversation)), limit, texts(fields, 'stop', { max: 4, single: true }))

  const prompt = conversation.reduce((sum, turn) => sum + countTokens(turn.text), 0)
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: generated.tokens.length,
    total_tokens: prompt + generated.tokens.length,
  }
  const common = { id: idOf('chatcmpl-demo-', input), created: Math.floor(Date.now() / 1000), model: MODEL }
  if (stream) return sendEvents(call, chunks(common, generated, includeUsage ? usage : undefined))
  const message = { role: 'assistant', content: generated.tokens.join(''), refusal: null }
  sendJson(call.res, 200, {
    ...common,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(generated) }],
    usage,
  })
}

/** With `usage`, every chunk carries `usage: null` and one more, without choices, carries the counts. */
function* chunks(
  common: object,
  generated: Generated,
  usage: object | undefined,
): Generator<{ text: string; paced?: boolean }> {
  const event = (choices: unknown[], counts: object | null = null) =>
    `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...(usage && { usage: counts }) })}\n\n`
  const choice = (delta: object, finish_reason: string | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason },
  ]

  yield { text: event(choice({ role: 'assistant', content: '', refusal: null })) }
  for (const content of generated.tokens) yield { text: event(choice({ content })), paced: true }
  yield { text: event(choice({}, finishReason(generated))) }
  if (usage) yield { text: event([], usage) }
  yield { text: 'data: [DONE]\n\n' }
}
