import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { KEY } from './sdk-stage.ts'
import { DIALECTS, type WireDialect } from './wire-dialect.ts'

/** Names that both SDKs give their error classes. */
export type ErrorClass =
  | 'APIError'
  | 'APIConnectionError'
  | 'APIConnectionTimeoutError'
  | 'AuthenticationError'
  | 'BadRequestError'
  | 'ConflictError'
  | 'InternalServerError'
  | 'NotFoundError'
  | 'PermissionDeniedError'
  | 'RateLimitError'
  | 'UnprocessableEntityError'

/** What is looked at of the SDKs' errors. */
export interface SdkError extends Error {
  status?: number
  headers?: Headers
  /** OpenAI only. */
  code?: string | null
  param?: string | null
  type?: string | null
  requestID?: string | null
}

export interface SdkOptions {
  url: string
  apiKey?: string
  maxRetries?: number
  /** Milliseconds. */
  timeout?: number
  headers?: Record<string, string>
}

/** An official SDK as its user calls it. */
export interface Sdk {
  name: 'openai' | 'anthropic'
  wire: WireDialect
  errors: Record<ErrorClass, new (...args: never[]) => Error>
  /** One question to a model; the text of its answer and the id that the SDK shows. */
  ask(model: string, options: SdkOptions, content?: string): Promise<{ text: string; id?: string | null }>
  /** The same as a stream; what came before a failure is in `texts`. */
  stream(model: string, options: SdkOptions, texts?: string[]): Promise<string>
  get(path: string, options: SdkOptions): Promise<unknown>
}

export const QUESTION = 'Why do rivers bend?'

const said = (content: string) => [{ role: 'user' as const, content }]

export function openai({ url, headers, ...options }: SdkOptions): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0, defaultHeaders: headers, ...options })
}

export function anthropic({ url, headers, ...options }: SdkOptions): Anthropic {
  return new Anthropic({ baseURL: url, apiKey: KEY, maxRetries: 0, defaultHeaders: headers, ...options })
}

export const SDKS: readonly Sdk[] = [
  {
    name: 'openai',
    wire: DIALECTS[0]!,
    errors: OpenAI,
    ask: async (model, options, content = QUESTION) => {
      const answer = await openai(options).chat.completions.create({ model, messages: said(content) })
      return { text: answer.choices[0]!.message.content!, id: answer._request_id }
    },
    stream: async (model, options, texts = []) => {
      const messages = said(QUESTION)
      const stream = await openai(options).chat.completions.create({ model, messages, stream: true })
      for await (const { choices } of stream) texts.push(choices[0]?.delta.content ?? '')
      return texts.join('')
    },
    get: (path, options) => openai(options).get(path),
  },
  {
    name: 'anthropic',
    wire: DIALECTS[1]!,
    errors: Anthropic,
    ask: async (model, options, content = QUESTION) => {
      const answer = await anthropic(options).messages.create({ model, messages: said(content), max_tokens: 200 })
      const [block] = answer.content
      return { text: block?.type === 'text' ? block.text : '', id: answer._request_id }
    },
    stream: async (model, options, texts = []) => {
      const messages = said(QUESTION)
      const stream = await anthropic(options).messages.create({ model, messages, max_tokens: 200, stream: true })
      for await (const event of stream) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') texts.push(event.delta.text)
      }
      return texts.join('')
    },
    get: (path, options) => anthropic(options).get(`/v1${path}`),
  },
]

/** What a call was rejected with. Rejects when it was served. */
export async function thrown(call: Promise<unknown>): Promise<SdkError> {
  let value: unknown
  try {
    value = await call
  } catch (error) {
    return error as SdkError
  }
  throw new Error(`it was served: ${JSON.stringify(value)}`)
}
