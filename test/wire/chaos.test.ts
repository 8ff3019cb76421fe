import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { rawClient } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { type Blackhole, blackhole, refusingUrl } from '../fakes/unreachable.ts'
import type { ScriptedUpstream } from '../fakes/upstream.ts'
import { eventually, within } from '../kit/patience.ts'
import { quietStatus } from '../kit/quiet.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import {
  type Draw,
  describeDraw,
  draws,
  expectedOf,
  firstScript,
  isLeave,
  type Leave,
  modelOf,
  secondScript,
} from './chaos-draw.ts'
import { stage } from './stage.ts'
import { DIALECTS, endOf } from './wire-dialect.ts'

const DRAWS = 600
const AT_A_TIME = 24

/** Names the draws of a run; a failed one is repeated with the seed that it has printed. */
const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 1e9))

let dark: Blackhole | undefined
afterAll(() => dark?.close())

const s = stage(['first', 'second'], async ({ first, second }) => {
  dark = await blackhole()
  const timeouts = { connect: '300ms' }
  const backends = {
    first: { url: first },
    second: { url: second },
    refusing: { url: await refusingUrl() },
    dark: { url: dark.url, timeouts },
    darker: { url: dark.url, timeouts: { connect: '20s' } },
    narrow: { url: first, concurrency: { max: 4 } },
  }
  const route = (name: string, target: string) =>
    routeYaml({
      name,
      models: [name],
      backends: DIALECTS.flatMap(dialect => [
        { name: `${target}-${dialect.name}` },
        { name: `second-${dialect.name}`, priority: 1 },
      ]),
      maxWait: '20s',
      retry: { backoff: { base: '10ms' } },
    })
  return yamlFile(
    ...Object.entries(backends).flatMap(([name, parts]) =>
      DIALECTS.map(dialect => backendYaml({ name: `${name}-${dialect.name}`, provider: dialect.provider, ...parts })),
    ),
    route('m', 'first'),
    route('refused', 'refusing'),
    route('dark', 'dark'),
    route('darker', 'darker'),
    route('narrow', 'narrow'),
  )
})

const byId = new Map<string, Draw>()

/** Requests of a draw that a backend has got. */
const arrived = (upstream: ScriptedUpstream, { id }: Draw) =>
  upstream.requests.filter(request => request.header('x-request-id') === id)

test(`${DRAWS} requests, each with something that goes wrong: one well-formed end each, and nothing is left`, async () => {
  console.info(`chaos: repeat this run with CHAOS_SEED=${seed}`)
  const all = draws(DRAWS, seed, DIALECTS)
  for (const draw of all) byId.set(draw.id, draw)
  for (const [name, scriptOf] of [
    ['first', firstScript],
    ['second', secondScript],
  ] as const) {
    s.upstreams[name].on(request => scriptOf(byId.get(request.header('x-request-id')!)!))
  }

  const failures: string[] = []
  const queue = [...all]
  const lane = async () => {
    for (let draw = queue.shift(); draw; draw = queue.shift()) {
      const fault = await perform(draw)
      if (fault) failures.push(`${describeDraw(draw)}: ${fault}`)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, lane))
  await quietStatus(s.weir)
  for (const draw of all) {
    const fault = countFault(draw)
    if (fault) failures.push(`${describeDraw(draw)}: ${fault}`)
  }
  expect(failures).toEqual([])

  // One line of the log each: a request ends once.
  await eventually(() => s.weir.logs.length >= DRAWS)
  const ids = s.weir.logs.map(({ requestId }) => requestId)
  expect(new Set(ids)).toEqual(new Set(byId.keys()))
  expect(ids).toHaveLength(DRAWS)
}, 120_000)

/** Sends the request and does the client's part; returns what was wrong with the end, if anything. */
async function perform(draw: Draw): Promise<string | undefined> {
  const { dialect, stream, phase, fault, id } = draw
  const headers: [string, string][] = [['x-request-id', id]]
  if (fault === 'deadline') headers.push(['x-request-timeout-ms', '200'])
  const client = await rawClient(s.weir.url)
  const response = client.next()
  try {
    const ask = dialect.ask({ model: modelOf(draw), stream, headers })
    await client.send(phase === 'upload' ? ask.subarray(0, ask.length - 5) : ask)
    if (isLeave(fault)) {
      await reached(draw, response)
      leave[fault](client)
    }
    await within(response.done, 20_000, 'the end of the response')
    const end = endOf(dialect, response)
    const { ends } = expectedOf(draw)
    if (!ends.includes(end)) return `ended as ${end}, not as ${ends.join(' or ')}: ${response.text.slice(0, 300)}`
    if (client.unread.length > 0) return `something follows the end: ${client.unread}`
    return undefined
  } catch (error) {
    return (error as Error).message
  } finally {
    client.close()
  }
}

type Client = Awaited<ReturnType<typeof rawClient>>
const leave: Record<Leave, (client: Client) => void> = {
  close: client => client.close(),
  abort: client => client.abort(),
  end: client => client.end(),
}

/** Waits until a request whose client will leave is where it is to be left. */
async function reached(draw: Draw, response: RawResponse): Promise<void> {
  const { phase } = draw
  if (phase === 'content' || phase === 'finish') {
    await within(
      response.until(({ body }) => body.length > 0),
      10_000,
      'the first content',
    )
  } else if (phase !== 'upload' && phase !== 'connect' && phase !== 'queue') {
    await eventually(() => arrived(s.upstreams.first, draw).length > 0, { timeoutMs: 10_000 })
  }
  await sleep(20)
}

/** What was wrong with the requests that the backends have got for this one, if anything. */
function countFault(draw: Draw): string | undefined {
  const expected = expectedOf(draw)
  for (const name of ['first', 'second'] as const) {
    const [least, most] = expected[name]
    const requests = arrived(s.upstreams[name], draw)
    if (requests.length < least || requests.length > most) {
      return `${requests.length} requests at the ${name} backend, not ${least} to ${most}`
    }
    // What was abandoned is closed; what was answered may be kept for others.
    if (isLeave(draw.fault) && draw.phase !== 'queue' && requests.some(({ connection }) => connection.isOpen)) {
      return `the connection to the ${name} backend is still open`
    }
  }
  return undefined
}
