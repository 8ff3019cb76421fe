/** The `Status` object with which the API server refuses. */
interface StatusBody {
  kind?: string
  code?: number
  reason?: string
  message?: string
  details?: { retryAfterSeconds?: number }
}

/** An answer of the API server that is a refusal. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** The HTTP status, or the code of an error object within a watch. */
  readonly status: number
  /** One word for programs, as `NotFound`, `Conflict`, `Expired`; `Unknown` where the answer has none. */
  readonly reason: string
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message)
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/** No usable answer: refused, cut, silent for too long, or not what an API server says. A retry may succeed. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  /** `Timeout`, `Answer` (no JSON where some was due) or the code of the system, of TLS or of undici. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The error that an HTTP answer stands for. Bodies that are no `Status` (a load balancer's page) are cut short. */
export function apiErrorOf(what: string, status: number, body: string, retryAfter: string | undefined): ApiError {
  const parsed = parseStatus(body)
  const asked = retryAfterMs(retryAfter) ?? secondsToMs(parsed?.details?.retryAfterSeconds)
  const text = parsed?.message ?? body.slice(0, 200).trim()
  return new ApiError(status, parsed?.reason ?? 'Unknown', `${what}: ${status} ${text}`.trim(), asked)
}

/** The error that an ERROR event within a watch stands for. */
export function apiErrorOfEvent(what: string, object: unknown): ApiError {
  const { code = 500, reason = 'Unknown', message = 'no message', details } = (object ?? {}) as StatusBody
  const asked = secondsToMs(details?.retryAfterSeconds)
  return new ApiError(code, reason, `${what}: error within the stream: ${code} ${message}`, asked)
}

export function hasStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status
}

/** The object or the kind does not exist. */
export const isNotFound = (error: unknown): error is ApiError => hasStatus(error, 404)

/** Written by someone else since it was read, or a field belongs to another manager. */
export const isConflict = (error: unknown): error is ApiError =>
  hasStatus(error, 409) && (error as ApiError).reason !== 'AlreadyExists'

export const isAlreadyExists = (error: unknown): error is ApiError =>
  hasStatus(error, 409) && (error as ApiError).reason === 'AlreadyExists'

/** The resourceVersion is too old: list again. */
export const isGone = (error: unknown): error is ApiError => hasStatus(error, 410)

function parseStatus(body: string): StatusBody | undefined {
  try {
    const parsed = JSON.parse(body) as StatusBody | null
    return parsed?.kind === 'Status' ? parsed : undefined
  } catch {
    return undefined
  }
}

/** `Retry-After` in seconds; the form with a date is not used by API servers. */
function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : undefined
}

function secondsToMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}
