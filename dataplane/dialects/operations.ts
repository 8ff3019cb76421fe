import type { IncomingHttpHeaders } from 'node:http'
import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { openai } from './openai.ts'

/** Something that a client can ask for, by method and path. */
export interface Operation {
  name: string
  dialect: Dialect
  method: 'POST'
  /** What the client calls. */
  path: string
  /** What follows the API root of a backend (see `apiRoot`). */
  upstreamPath: string
}

/** The operations that are passed to backends. */
export const OPERATIONS: readonly Operation[] = [
  operation('chat', openai, '/v1/chat/completions', '/chat/completions'),
  operation('embeddings', openai, '/v1/embeddings', '/embeddings'),
  operation('messages', anthropic, '/v1/messages', '/v1/messages'),
  operation('count_tokens', anthropic, '/v1/messages/count_tokens', '/v1/messages/count_tokens'),
]

function operation(name: string, dialect: Dialect, path: string, upstreamPath: string): Operation {
  return { name, dialect, method: 'POST', path, upstreamPath }
}

/** The dialect of a request: by its path, or by the header that every Anthropic client sends. */
export function dialectOf(path: string, headers: IncomingHttpHeaders): Dialect {
  return path.startsWith('/v1/messages') || headers['anthropic-version'] !== undefined ? anthropic : openai
}

/**
 * The path below which a backend's API lies, from its base URL. OpenAI's SDKs count the version to the base URL
 * (`https://host/v1`), Anthropic's do not (`https://host`); both notations are understood, so that an address copied
 * from either documentation works.
 */
export function apiRoot(provider: 'OpenAI' | 'Anthropic', pathname: string): string {
  const base = pathname.replace(/\/+$/, '')
  if (provider === 'Anthropic') return base.replace(/\/v1$/, '')
  return base === '' ? '/v1' : base
}
