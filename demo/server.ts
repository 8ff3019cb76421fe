import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as anthropic from './anthropic.ts'
import { embeddings } from './embeddings.ts'
import { type Fields, parseFields, Refusal } from './fields.ts'
import { idOf } from './hash.ts'
import { type Call, readBody, sendJson } from './http.ts'
import * as openai from './openai.ts'

/** Milliseconds between two tokens of a stream: about 40 tokens a second, a brisk reading pace. */
const DEFAULT_PACE_MS = 25

/** Longer than any client keeps an idle connection, so that a request never meets a socket being closed. */
const KEEP_ALIVE_MS = 75_000

const CLOSE_GRACE_MS = 5_000

export interface DemoOptions {
  /** Address to listen on, such as `127.0.0.1`. */
  host: string
  /** 0 takes a free one. */
  port: number
  /** Milliseconds between two tokens of a stream, 0 or more; absent means 25. Answers in one piece do not wait. */
  paceMs?: number
}

export interface Demo {
  /** Origin without a path, such as `http://127.0.0.1:8081`; the OpenAI base URL is this with `/v1`. */
  url: string
  port: number
  /** Stops accepting, lets running answers finish for `graceMs` (absent means 5 s), then cuts the rest. */
  close(graceMs?: number): Promise<void>
}

type Dialect = 'openai' | 'anthropic'

function dialectOf(req: IncomingMessage, path: string): Dialect {
  return path.startsWith('/v1/messages') || req.headers['anthropic-version'] !== undefined ? 'anthropic' : 'openai'
}

const POSTS: Record<string, (call: Call, fields: Fields, input: string) => unknown> = {
  '/v1/chat/completions': openai.chatCompletions,
  '/v1/embeddings': (call, fields) => sendJson(call.res, 200, embeddings(fields)),
  '/v1/messages': anthropic.messages,
  '/v1/messages/count_tokens': (call, fields) => sendJson(call.res, 200, anthropic.countMessageTokens(fields)),
}

function models(dialect: Dialect, path: string): unknown {
  const dialectModels = dialect === 'anthropic' ? anthropic : openai
  if (path === '/v1/models') return dialectModels.listModels()
  try {
    return dialectModels.getModel(decodeURIComponent(path.slice('/v1/models/'.length)))
  } catch (error) {
    if (error instanceof URIError) throw new Refusal(404, `There is no model at ${path}.`, { code: 'model_not_found' })
    throw error
  }
}

function requireMethod(req: IncomingMessage, res: ServerResponse, path: string, method: 'GET' | 'POST'): void {
  if (req.method === method) return
  res.setHeader('allow', method)
  throw new Refusal(405, `${path} takes ${method}, not ${req.method}.`, { code: 'method_not_allowed' })
}

/**
 * Starts the demo model: an HTTP server that speaks the OpenAI and Anthropic dialects and serves one model, `demo`, whose
 * reply is a function of the input. Rejects with the system's error (`EADDRINUSE`, `EACCES`, …) when it cannot listen.
 */
export async function startDemo({ host, port, paceMs = DEFAULT_PACE_MS }: DemoOptions): Promise<Demo> {
  let generating = 0

  async function answer(call: Call, dialect: Dialect, path: string): Promise<void> {
    const { req, res } = call
    if (path === '/health') {
      requireMethod(req, res, path, 'GET')
      return sendJson(res, 200, { status: 'ok', generating })
    }
    if (path === '/v1/models' || path.startsWith('/v1/models/')) {
      requireMethod(req, res, path, 'GET')
      return sendJson(res, 200, models(dialect, path))
    }
    const post = Object.hasOwn(POSTS, path) ? POSTS[path] : undefined
    if (!post) throw new Refusal(404, `There is nothing at ${req.method} ${path}.`, { code: 'not_found' })
    requireMethod(req, res, path, 'POST')
    const body = await readBody(req)
    generating++
    try {
      await post(call, parseFields(body), body.toString())
    } finally {
      generating--
    }
  }

  function refuse({ req, res }: Call, dialect: Dialect, error: unknown): void {
    const refusal = error instanceof Refusal ? error : new Refusal(500, `The demo model failed: ${String(error)}`)
    const requestId = idOf('req_demo_', `${req.method} ${req.url} ${refusal.message}`)
    const shape = dialect === 'anthropic' ? anthropic.anthropicError(refusal, requestId) : openai.openaiError(refusal)
    // Once a stream has begun there is no other way to say that it will not be completed.
    if (res.headersSent) res.destroy()
    else sendJson(res, refusal.status, shape, dialect === 'anthropic' ? { 'request-id': requestId } : {})
  }

  const server = createServer((req, res) => {
    const gone = new AbortController()
    res.on('close', () => {
      if (!res.writableFinished) gone.abort()
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
    const call: Call = { req, res, paceMs, gone: gone.signal }
    const path = req.url!.split('?', 1)[0]!
    const dialect = dialectOf(req, path)
    answer(call, dialect, path).catch((error: unknown) => {
      if (!gone.signal.aborted) refuse(call, dialect, error)
    })
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await listen(server, host, port)
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: (graceMs = CLOSE_GRACE_MS) => close(server, graceMs),
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function close(server: Server, graceMs: number): Promise<void> {
  return new Promise(resolve => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearTimeout(cut)
      resolve()
    })
  })
}
