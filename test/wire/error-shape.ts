import { expect } from 'vitest'
import type { RawResponse } from '../fakes/raw-response.ts'
import type { Format } from './formats.ts'

/** What clients may rely on: for each code the status and the type in OpenAI's and in Anthropic's dialect. */
const ERRORS: Record<string, { openai: [number, string]; anthropic: [number, string] }> = {
  invalid_request: { openai: [400, 'invalid_request_error'], anthropic: [400, 'invalid_request_error'] },
  invalid_json: { openai: [400, 'invalid_request_error'], anthropic: [400, 'invalid_request_error'] },
  dialect_unsupported: { openai: [400, 'invalid_request_error'], anthropic: [400, 'invalid_request_error'] },
  invalid_api_key: { openai: [401, 'invalid_request_error'], anthropic: [401, 'authentication_error'] },
  model_not_found: { openai: [404, 'invalid_request_error'], anthropic: [404, 'not_found_error'] },
  not_found: { openai: [404, 'invalid_request_error'], anthropic: [404, 'not_found_error'] },
  method_not_allowed: { openai: [405, 'invalid_request_error'], anthropic: [405, 'invalid_request_error'] },
  request_too_large: { openai: [413, 'invalid_request_error'], anthropic: [413, 'request_too_large'] },
  headers_too_large: { openai: [431, 'invalid_request_error'], anthropic: [431, 'invalid_request_error'] },
  rate_limit_exceeded: { openai: [429, 'requests'], anthropic: [429, 'rate_limit_error'] },
  not_implemented: { openai: [501, 'invalid_request_error'], anthropic: [501, 'api_error'] },
  upstream_error: { openai: [502, 'api_error'], anthropic: [502, 'api_error'] },
  body_budget_exhausted: { openai: [503, 'server_error'], anthropic: [529, 'overloaded_error'] },
  queue_full: { openai: [503, 'server_error'], anthropic: [529, 'overloaded_error'] },
  overloaded: { openai: [503, 'server_error'], anthropic: [529, 'overloaded_error'] },
  no_backend: { openai: [503, 'server_error'], anthropic: [503, 'api_error'] },
  upstream_timeout: { openai: [504, 'api_error'], anthropic: [504, 'timeout_error'] },
  deadline_exceeded: { openai: [504, 'api_error'], anthropic: [504, 'timeout_error'] },
}

interface Expected {
  /** In place of the code's own. */
  status?: number
  message?: RegExp
  param?: string
}

/** The whole answer is one of the gateway's own errors, in the dialect of `format` and with nothing else in it. */
export function expectError(
  response: RawResponse,
  { dialect }: Pick<Format, 'dialect'>,
  code: string,
  { status, message = /\w/, param }: Expected = {},
): void {
  const [usual, type] = ERRORS[code]![dialect]
  const requestId = response.header('x-request-id')
  expect(requestId).toMatch(/^[\w.:-]{1,128}$/)
  expect({ status: response.status, code: response.header('x-weir-code') }).toEqual({ status: status ?? usual, code })
  expect(response.header('content-type')).toBe('application/json')
  expect(response.ending).toBe('length')
  expect(response.json()).toEqual(
    dialect === 'openai'
      ? { error: { message: expect.stringMatching(message), type, param: param ?? null, code } }
      : { type: 'error', error: { type, message: expect.stringMatching(message) }, request_id: requestId },
  )
}

/** The stream was ended by the gateway: `before`, then one error event of the dialect, then nothing. */
export function expectBroken(response: RawResponse, format: Format, before: string, code: string): void {
  const [, type] = ERRORS[code]![format.dialect]
  expect(response.text.slice(0, before.length)).toBe(before)
  const event = response.text.slice(before.length)
  const match = /^(?:event: (\w+)\n)?data: (.*)\n\n$/.exec(event)
  expect(match, `not one event: ${event}`).not.toBeNull()
  expect(match![1]).toBe(format.dialect === 'anthropic' ? 'error' : undefined)
  expect(JSON.parse(match![2]!)).toEqual(
    format.dialect === 'openai'
      ? { error: { message: expect.stringMatching(/\w/), type, param: null, code } }
      : {
          type: 'error',
          error: { type, message: expect.stringMatching(/\w/) },
          request_id: response.header('x-request-id'),
        },
  )
  expect(response.ending).toBe('chunked')
  expect(response.text).not.toContain(format.terminator)
}

/** A wait that SDKs obey: `retry-after-ms`, and `retry-after` as its ceiling in seconds. */
export function expectRetryAfter(response: RawResponse, [least, most]: [number, number]): void {
  const ms = Number(response.header('retry-after-ms'))
  expect(ms).toBeGreaterThanOrEqual(least)
  expect(ms).toBeLessThanOrEqual(most)
  expect(response.header('retry-after')).toBe(String(Math.max(1, Math.ceil(ms / 1000))))
}
