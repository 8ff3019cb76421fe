import { request } from 'undici'
import { z } from 'zod'
import { CommandError } from './command.ts'

/** The default of `--admin`. */
export const ADMIN_URL = 'http://127.0.0.1:9090'

const ANSWER_MS = 10_000

const backend = z.looseObject({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  state: z.string(),
  references: z.record(z.string(), z.number()),
  oldestSeconds: z.number().nullish(),
  queued: z.number(),
  inFlight: z.number(),
  slots: z.number(),
})

const resource = z.looseObject({
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  generation: z.number(),
  servedGeneration: z.number().optional(),
  conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() })),
  file: z.string().optional(),
})

/** What the commands read of `GET /status`; a newer gateway may say more. */
const statusAnswer = z.looseObject({
  ready: z.boolean(),
  config: z.looseObject({ epoch: z.string().nullish(), generation: z.number().nullish() }).nullish(),
  backends: z.array(backend),
  load: z.looseObject({ inFlight: z.number(), queued: z.number(), saturated: z.boolean() }),
  resources: z.array(resource).optional(),
})

export type StatusAnswer = z.output<typeof statusAnswer>
export type BackendStatus = StatusAnswer['backends'][number]

/** Asks a gateway for its status; `raw` is the answer as it came. Throws a CommandError that says what to do. */
export async function fetchStatus(admin: string): Promise<{ status: StatusAnswer; raw: unknown }> {
  const raw = await call(admin, 'GET', '/status')
  const parsed = statusAnswer.safeParse(raw)
  if (!parsed.success) throw new CommandError(`what answers at ${admin} is no gateway of this kind; check --admin`)
  return { status: parsed.data, raw }
}

/** Starts or undoes a drain; the result is the UID of the backend. */
export async function setDrain(admin: string, namespace: string, name: string, drained: boolean): Promise<string> {
  const path = `/drain/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  return drainAnswer.parse(await call(admin, drained ? 'POST' : 'DELETE', path)).uid
}

async function call(admin: string, method: 'GET' | 'POST' | 'DELETE', path: string): Promise<unknown> {
  let status: number
  let text: string
  try {
    // Not `fetch`: it refuses a list of ports that a person may well have chosen.
    const response = await request(`${admin}${path}`, { method, signal: AbortSignal.timeout(ANSWER_MS) })
    status = response.statusCode
    text = await response.body.text()
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException
    const why = name === 'TimeoutError' ? `no answer in ${ANSWER_MS / 1000}s` : (code ?? message)
    throw new CommandError(
      `no gateway at ${admin} (${why}): start one with "weir run", or give its admin address with --admin URL`,
    )
  }
  const body = asJson(text)
  if (status < 300) return body
  const refused = refusal.safeParse(body)
  throw new CommandError(refused.success ? refused.data.error : `${admin}${path} answered ${status}`)
}

const drainAnswer = z.looseObject({ uid: z.string() })

const refusal = z.looseObject({ error: z.string() })

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
