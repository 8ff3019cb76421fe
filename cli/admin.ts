import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DRAIN_ANNOTATION } from '../crds/group.ts'
import { objectKey } from '../operator/files/ledger.ts'
import { formatPlace } from '../operator/files/problem.ts'
import type { Configuration, Update } from './configuration.ts'

interface Target {
  namespace: string
  name: string
}

export interface DrainAdmin {
  configuration: Configuration
  /** What the gateway says of the backend with this UID. */
  stateOf(uid: string): object | undefined
  /** Called with what a drain or its undoing has changed. */
  onUpdate(update: Update): void
}

/** Routes of the admin port that only a standalone gateway has: drains by hand. */
export function drainRoutes(app: FastifyInstance, { configuration, stateOf, onUpdate }: DrainAdmin): void {
  const answer = (target: Target, uid: string) => {
    const draining = configuration.content.backends.find(backend => backend.uid === uid)?.draining
    const deadline = draining && new Date(draining.deadline).toISOString()
    return { kind: 'ModelBackend', ...target, uid, draining: draining !== undefined, deadline, ...stateOf(uid) }
  }

  app.post<{ Params: Target }>('/drain/:namespace/:name', (request, reply) => {
    const uid = find(configuration, request, reply)
    if (uid === undefined) return reply
    onUpdate(configuration.drain(uid, 'by hand'))
    return reply.code(202).send(answer(request.params, uid))
  })

  app.delete<{ Params: Target }>('/drain/:namespace/:name', (request, reply) => {
    const uid = find(configuration, request, reply)
    if (uid === undefined) return reply
    const { namespace, name } = request.params
    if (configuration.backend(namespace, name)?.metadata.annotations?.[DRAIN_ANNOTATION] !== undefined) {
      const object = configuration.loaded.objects.get(objectKey('ModelBackend', namespace, name))
      const where = object ? ` at ${formatPlace(object.at(['metadata', 'annotations', DRAIN_ANNOTATION]))}` : ''
      return refuse(reply, 409, `it is drained by its own annotation ${DRAIN_ANNOTATION}${where}; remove that`)
    }
    onUpdate(configuration.undrain(uid))
    return reply.code(200).send(answer(request.params, uid))
  })
}

/** UID of the backend that a request names; otherwise the answer has been sent. */
function find(
  configuration: Configuration,
  request: FastifyRequest<{ Params: Target }>,
  reply: FastifyReply,
): string | undefined {
  // The port needs no token, so a web page in the user's browser must not be able to use it.
  if (request.headers.origin !== undefined) {
    refuse(reply, 403, 'requests from web pages are refused')
    return undefined
  }
  const { namespace, name } = request.params
  const backend = configuration.backend(namespace, name)
  if (backend) return backend.metadata.uid
  const names = configuration.loaded.resources.objects
    .filter(object => object.kind === 'ModelBackend')
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  const there = names.length > 0 ? `there are ${names.join(', ')}` : 'there is none'
  refuse(reply, 404, `there is no ModelBackend ${namespace}/${name}; ${there}`)
  return undefined
}

function refuse(reply: FastifyReply, status: number, error: string): FastifyReply {
  return reply.code(status).send({ error })
}
