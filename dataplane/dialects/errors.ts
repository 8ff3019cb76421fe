/**
 * Every error that the gateway makes itself: stable code, HTTP status, and what each dialect calls it. The code is
 * what programs may rely on; it is sent as `x-weir-code`, in OpenAI bodies as `error.code`.
 */
export const ERRORS = {
  invalid_request: {
    when: 'A header, a parameter or the HTTP request itself cannot be used; the message names it.',
    status: 400,
    openai: 'invalid_request_error',
    anthropic: 'invalid_request_error',
  },
  invalid_json: {
    when: 'The body is no JSON object.',
    status: 400,
    openai: 'invalid_request_error',
    anthropic: 'invalid_request_error',
  },
  dialect_unsupported: {
    when: "No backend of the model speaks the caller's API.",
    status: 400,
    openai: 'invalid_request_error',
    anthropic: 'invalid_request_error',
  },
  invalid_api_key: {
    when: 'There is no key where one is needed, or no tenant has it.',
    status: 401,
    openai: 'invalid_request_error',
    anthropic: 'authentication_error',
  },
  model_not_found: {
    when: 'No route of the caller takes the model; the message lists those that it may use.',
    status: 404,
    openai: 'invalid_request_error',
    anthropic: 'not_found_error',
  },
  not_found: {
    when: 'There is nothing at this path.',
    status: 404,
    openai: 'invalid_request_error',
    anthropic: 'not_found_error',
  },
  method_not_allowed: {
    when: 'The path takes another method; see the header `allow`.',
    status: 405,
    openai: 'invalid_request_error',
    anthropic: 'invalid_request_error',
  },
  request_timeout: {
    when: 'The request did not arrive whole in time.',
    status: 408,
    openai: 'invalid_request_error',
    anthropic: 'invalid_request_error',
  },
  request_too_large: {
    when: 'The body is larger than 16 MiB.',
    status: 413,
    openai: 'invalid_request_error',
    anthropic: 'request_too_large',
  },
  headers_too_large: {
    when: 'The headers are larger than 64 KiB.',
    status: 431,
    openai: 'invalid_request_error',
    anthropic: 'invalid_request_error',
  },
  rate_limit_exceeded: {
    when: 'A RateLimitPolicy is used up; `Retry-After` says until when.',
    status: 429,
    openai: 'requests',
    anthropic: 'rate_limit_error',
  },
  not_implemented: {
    when: 'WebSockets and the Realtime API are not served.',
    status: 501,
    openai: 'invalid_request_error',
    anthropic: 'api_error',
  },
  upstream_error: {
    when: 'The backend failed or gave no valid answer. With its own status where it sent one.',
    status: 502,
    openai: 'api_error',
    anthropic: 'api_error',
  },
  // A full gateway is 503 for OpenAI clients and 529, the status that Anthropic's SDKs know, for Anthropic clients.
  body_budget_exhausted: {
    when: 'The gateway holds as many request bodies as it may (256 MiB).',
    status: 503,
    openai: 'server_error',
    anthropic: 'overloaded_error',
    anthropicStatus: 529,
  },
  queue_full: {
    when: 'All backends are busy and their queues are at a bound; 429 where only the tenant is over its share.',
    status: 503,
    openai: 'server_error',
    anthropic: 'overloaded_error',
    anthropicStatus: 529,
  },
  overloaded: {
    when: 'The request waited for a slot as long as its route allows (`maxWait`).',
    status: 503,
    openai: 'server_error',
    anthropic: 'overloaded_error',
    anthropicStatus: 529,
  },
  no_backend: {
    when: 'No backend of the route is in service.',
    status: 503,
    openai: 'server_error',
    anthropic: 'api_error',
  },
  shutting_down: {
    when: 'The gateway stops and the request was not done within the grace period.',
    status: 503,
    openai: 'server_error',
    anthropic: 'api_error',
  },
  upstream_timeout: {
    when: 'The backend was slower than its `timeouts`.',
    status: 504,
    openai: 'api_error',
    anthropic: 'timeout_error',
  },
  deadline_exceeded: {
    when: "The route's `timeout`, or a shorter one that the request asked for, has passed.",
    status: 504,
    openai: 'api_error',
    anthropic: 'timeout_error',
  },
  internal_error: {
    when: 'A fault of the gateway; its standard error has the cause under the request id.',
    status: 500,
    openai: 'server_error',
    anthropic: 'api_error',
  },
} as const satisfies Record<string, ErrorEntry>

interface ErrorEntry {
  /** When it happens, for the reference. */
  when: string
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
