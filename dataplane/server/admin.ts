import { timingSafeEqual } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

export interface AdminOptions {
  /** Bearer token that `/status` asks for; absent in standalone mode, where the port is bound to loopback. */
  token?: string | undefined
  ready(): boolean
  status(): Record<string, unknown>
  registry: Registry
}

/** The admin port: probes and metrics are open, everything else wants the token. */
export function adminServer({ token, ready, status, registry }: AdminOptions): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true })
  app.get('/livez', (_request, reply) => reply.type('text/plain').send('ok\n'))
  app.get('/readyz', (_request, reply) => {
    const isReady = ready()
    return reply
      .code(isReady ? 200 : 503)
      .type('text/plain')
      .send(isReady ? 'ok\n' : 'not ready\n')
  })
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  app.addHook('onRequest', async (request, reply) => {
    if (!token || ['/livez', '/readyz', '/metrics'].includes(request.routeOptions.url ?? '')) return
    if (isToken(request.headers.authorization, token)) return
    await reply.code(401).send({ error: 'a bearer token is required' })
  })
  app.get('/status', () => status())
  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send({ error: `there is no ${request.method} ${request.url} here; see /status, /metrics, /readyz` }),
  )
  return app
}

function isToken(header: string | undefined, token: string): boolean {
  const presented = Buffer.from(header?.replace(/^Bearer /, '') ?? '')
  const wanted = Buffer.from(token)
  return presented.length === wanted.length && timingSafeEqual(presented, wanted)
}
