/**
 * Every error that the gateway makes itself: stable code, HTTP status, and what each dialect calls it. The code is
 * what programs may rely on; it is sent as `x-weir-code`, in OpenAI bodies as `error.code`.
 */
export const ERRORS = {
  invalid_request: { status: 400, openai: 'invalid_request_error', anthropic: 'invalid_request_error' },
  invalid_json: { status: 400, openai: 'invalid_request_error', anthropic: 'invalid_request_error' },
  dialect_unsupported: { status: 400, openai: 'invalid_request_error', anthropic: 'invalid_request_error' },
  invalid_api_key: { status: 401, openai: 'invalid_request_error', anthropic: 'authentication_error' },
  model_not_found: { status: 404, openai: 'invalid_request_error', anthropic: 'not_found_error' },
  not_found: { status: 404, openai: 'invalid_request_error', anthropic: 'not_found_error' },
  method_not_allowed: { status: 405, openai: 'invalid_request_error', anthropic: 'invalid_request_error' },
  request_timeout: { status: 408, openai: 'invalid_request_error', anthropic: 'invalid_request_error' },
  request_too_large: { status: 413, openai: 'invalid_request_error', anthropic: 'request_too_large' },
  headers_too_large: { status: 431, openai: 'invalid_request_error', anthropic: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, openai: 'requests', anthropic: 'rate_limit_error' },
  insufficient_quota: { status: 429, openai: 'insufficient_quota', anthropic: 'rate_limit_error' },
  not_implemented: { status: 501, openai: 'invalid_request_error', anthropic: 'api_error' },
  upstream_error: { status: 502, openai: 'api_error', anthropic: 'api_error' },
  // A full gateway is 503 for OpenAI clients and 529, the status that Anthropic's SDKs know, for Anthropic clients.
  body_budget_exhausted: { status: 503, openai: 'server_error', anthropic: 'overloaded_error', anthropicStatus: 529 },
  queue_full: { status: 503, openai: 'server_error', anthropic: 'overloaded_error', anthropicStatus: 529 },
  overloaded: { status: 503, openai: 'server_error', anthropic: 'overloaded_error', anthropicStatus: 529 },
  no_backend: { status: 503, openai: 'server_error', anthropic: 'api_error' },
  shutting_down: { status: 503, openai: 'server_error', anthropic: 'api_error' },
  upstream_timeout: { status: 504, openai: 'api_error', anthropic: 'timeout_error' },
  deadline_exceeded: { status: 504, openai: 'api_error', anthropic: 'timeout_error' },
  internal_error: { status: 500, openai: 'server_error', anthropic: 'api_error' },
} as const satisfies Record<string, ErrorEntry>

interface ErrorEntry {
  status: number
  openai: string
  anthropic: string
  anthropicStatus?: number
}

export type ErrorCode = keyof typeof ERRORS

export interface ErrorDetails {
  /** The field of the request that is at fault. */
  param?: string
  /** How long the caller should wait, in milliseconds; sent as `retry-after-ms` and `Retry-After`. */
  retryAfterMs?: number
  /** Overrides what official SDKs would do by status alone (`x-should-retry`). */
  shouldRetry?: boolean
  /** Replaces the catalogue's status, where the cause gives a better one. */
  status?: number
  /** Further response headers. */
  headers?: Record<string, string>
}

/** An error that is answered to the caller in its dialect. The message says what to do next. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message)
    this.code = code
    this.details = details
  }
}
