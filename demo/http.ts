import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from './fields.ts'

/** Largest request body, in bytes. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024

/** What one request is answered with. */
export interface Call {
  req: IncomingMessage
  res: ServerResponse
  /** Milliseconds between two tokens of a stream. */
  paceMs: number
  /** Aborted when the client is gone before the answer is complete. */
  gone: AbortSignal
}

/** The whole request body. Refuses with 413 above `MAX_BODY_BYTES`, before reading it where the length is declared. */
export async function readBody(req: IncomingMessage): Promise<Buffer> {
  const tooLarge = () =>
    new Refusal(413, `The body is larger than ${MAX_BODY_BYTES} bytes. Send a smaller one.`, {
      code: 'request_too_large',
    })
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const pieces: Buffer[] = []
  let size = 0
  return new Promise<Buffer>((resolve, reject) => {
    req.on('data', (piece: Buffer) => {
      size += piece.length
      if (size > MAX_BODY_BYTES) {
        // The rest is read and dropped, or the client, still sending, would never read the answer.
        req.removeAllListeners('data').resume()
        reject(tooLarge())
      } else pieces.push(piece)
    })
    req.on('end', () => resolve(Buffer.concat(pieces)))
    req.on('error', reject)
    req.on('close', () => reject(new Error('the client closed the connection')))
  })
}

/** Answers with JSON. Does nothing once the client is gone or a response has begun. */
export function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  if (res.destroyed || res.headersSent) return
  const body = Buffer.from(JSON.stringify(value))
  res.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': body.length }).end(body)
}

/**
 * Sends `events` as a stream of server-sent events, each string one event in full. An event marked `paced` waits
 * `paceMs` first. Ends early, without an error, when the client is gone.
 */
export async function sendEvents(
  { res, paceMs, gone }: Call,
  events: Iterable<{ text: string; paced?: boolean }>,
): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  try {
    for (const { text, paced } of events) {
      if (paced && paceMs > 0) await sleep(paceMs, undefined, { signal: gone })
      if (gone.aborted) return
      if (!res.write(text)) await once(res, 'drain', { signal: gone })
    }
    res.end()
  } catch (error) {
    if (!gone.aborted) throw error
  }
}
