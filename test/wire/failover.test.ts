import { describe, expect, test } from 'vitest'
import { chunk, cutAt, jsonResponse, LAST_CHUNK, response } from '../fakes/bytes.ts'
import { rawClient, rawRequest } from '../fakes/raw-client.ts'
import { streamHead } from '../fakes/sse.ts'
import { fin, reset, type Script, write } from '../fakes/steps.ts'
import { refusingUrl } from '../fakes/unreachable.ts'
import { eventually } from '../kit/patience.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { Load } from './load.ts'
import { stage } from './stage.ts'
import { answered, DIALECTS, endOf, streamed, type WireDialect } from './wire-dialect.ts'

const [openai, anthropic] = DIALECTS as [WireDialect, WireDialect]

const s = stage(['first', 'second'], async ({ first, second }) => {
  const pair = (name: string, url: string) => [
    backendYaml({ name: `${name}-openai`, url }),
    backendYaml({ name: `${name}-anthropic`, url, provider: 'Anthropic' }),
  ]
  const ranked = (before: string, after: string) => [
    ...['openai', 'anthropic'].map(dialect => ({ name: `${before}-${dialect}` })),
    ...['openai', 'anthropic'].map(dialect => ({ name: `${after}-${dialect}`, priority: 1 })),
  ]
  return yamlFile(
    ...[...pair('first', first), ...pair('second', second), ...pair('refusing', await refusingUrl())],
    routeYaml({ name: 'm', models: ['m'], backends: ranked('first', 'second') }),
    routeYaml({ name: 'refused', models: ['refused'], backends: ranked('refusing', 'second') }),
  )
})
const { upstreams } = s

/** Requests of this test that the first and the second backend got. */
const counts = () => [s.requests('first').length, s.requests('second').length]

interface Fault {
  name: string
  /** Absent: the backend refuses the connection. */
  script?: (dialect: WireDialect) => Script
}

const FAULTS: Fault[] = [
  { name: 'refuses the connection' },
  { name: 'resets the connection before it answers', script: () => [reset()] },
  { name: 'closes the connection before it answers', script: () => [fin()] },
  { name: 'breaks off within its headers', script: () => [write('HTTP/1.1 200 OK\r\ncontent-ty'), reset()] },
  { name: 'answers with what is no HTTP', script: () => [write('oops\r\n\r\n'), fin()] },
  { name: 'answers 503', script: dialect => [write(jsonResponse(503, dialect.errorBody('busy')))] },
  { name: 'answers 429', script: dialect => [write(jsonResponse(429, dialect.errorBody('slow down')))] },
  { name: 'answers 529', script: dialect => [write(jsonResponse(529, dialect.errorBody('overloaded')))] },
  {
    name: 'answers 502 with a page of HTML',
    script: () => [write(response(502, [['content-type', 'text/html']], '<html><h1>Bad Gateway</h1></html>'))],
  },
  { name: 'answers 200 with an error', script: dialect => [write(jsonResponse(200, dialect.errorBody('broken')))] },
  {
    name: 'answers 200 with {"error":{"code":429}}',
    script: () => [write(jsonResponse(200, '{"error":{"code":429}}'))],
  },
  { name: 'answers 200 with oops', script: () => [write(jsonResponse(200, 'oops'))] },
  { name: 'answers 200 without a body', script: () => [write(jsonResponse(200, ''))] },
  {
    name: 'answers 200 and breaks off within the body',
    script: ({ answer }) => [write(cutAt(answer, [answer.length - 9])[0]!), reset()],
  },
]

const STREAM_FAULTS: Fault[] = [
  { name: 'begins with an error', script: dialect => wholeStream([dialect.errorEvent('broken')]) },
  {
    name: 'has an error before its first content',
    script: dialect => wholeStream([...prelude(dialect), dialect.errorEvent('broken')]),
  },
  { name: 'is reset before its first content', script: dialect => [...beginning(prelude(dialect)), reset()] },
  { name: 'is closed before its first content', script: dialect => [...beginning(prelude(dialect)), fin()] },
  { name: 'ends before its first content', script: dialect => wholeStream(prelude(dialect)) },
  { name: 'ends without an event', script: () => wholeStream([]) },
]

const prelude = (dialect: WireDialect) => dialect.events.slice(0, dialect.prelude)
const beginning = (events: readonly string[]) => [write(streamHead(), ...events.map(event => chunk(event)))]
const wholeStream = (events: readonly string[]) => [...beginning(events), write(LAST_CHUNK)]

/** The first backend fails so, the second is well: the client sees one good answer. */
async function expectFailover(dialect: WireDialect, { script }: Fault, stream: boolean): Promise<void> {
  if (script) upstreams.first.script(script(dialect))
  upstreams.second.script(stream ? streamed(dialect) : answered(dialect))
  const client = await rawClient(s.weir.url)
  await client.send(dialect.ask({ model: script ? 'm' : 'refused', stream }))
  const answer = await client.response()
  expect(endOf(dialect, answer)).toBe('complete')
  expect(answer.header('x-weir-backend')).toBe(`default/second-${dialect.name}`)
  expect(answer.header('x-weir-attempts')).toBe('2')
  expect(counts()).toEqual([script ? 1 : 0, 1])
  const requestId = answer.header('x-request-id')
  expect(await s.weir.waitForLog(line => line.requestId === requestId)).toMatchObject({ attempts: 2, status: 200 })
  expect(client.unread.length).toBe(0)
  client.close()
}

describe.each(DIALECTS)('wire case 10: the second backend serves when the first, $name,', dialect => {
  test.each(FAULTS)('$name', fault => expectFailover(dialect, fault, false))
  test.each(FAULTS)('$name, asked for a stream', fault => expectFailover(dialect, fault, true))
})

describe.each(DIALECTS)('wire case 10: the second backend serves when the stream of the first, $name,', dialect => {
  test.each(STREAM_FAULTS)('$name', fault => expectFailover(dialect, fault, true))
})

describe.each(DIALECTS)('wire case 9: no second backend once content has passed, $name,', dialect => {
  const content = dialect.events.slice(0, dialect.prelude + 1)
  test.each<Fault & { script: () => Script }>([
    { name: 'reset', script: () => [...beginning(content), reset()] },
    { name: 'closed', script: () => [...beginning(content), fin()] },
    { name: 'ended early', script: () => wholeStream(content) },
    { name: 'an error event', script: () => wholeStream([...content, dialect.errorEvent('broken')]) },
  ])('$name', async ({ script }) => {
    upstreams.first.script(script())
    const answer = await rawRequest(s.weir.url, dialect.ask({ stream: true }))
    expect(endOf(dialect, answer)).toBe('error event')
    expect(answer.header('x-weir-attempts')).toBe('1')
    expect(counts()).toEqual([1, 0])
  })
})

test('30 % of the answers of one backend fail, with a healthy alternative: of 2,000 requests none does', async () => {
  const isStream = (json: unknown) => (json as { stream?: boolean }).stream === true
  const faults = [...FAULTS.slice(1), ...STREAM_FAULTS]
  let failed = 0
  const serve = (json: unknown, dialect: WireDialect) => (isStream(json) ? streamed(dialect) : answered(dialect))
  upstreams.first.on(request => {
    const dialect = request.path === '/v1/messages' ? anthropic : openai
    if (request.index % 10 >= 3) return serve(request.json(), dialect)
    const usable = isStream(request.json()) ? faults : FAULTS.slice(1)
    return usable[failed++ % usable.length]!.script!(dialect)
  })
  upstreams.second.on(request => serve(request.json(), request.path === '/v1/messages' ? anthropic : openai))
  const lanes = DIALECTS.flatMap(dialect => [true, false, true, false].map(stream => ({ dialect, stream })))
  const load = new Load(s.weir.url, lanes)
  await eventually(() => load.responses.length + load.failures.length >= 2_000, { timeoutMs: 60_000 })
  await load.stop()
  expect(load.failures).toEqual([])
  expect(failed).toBeGreaterThan(500)
  const attempts = new Set(load.responses.map(each => each.header('x-weir-attempts')))
  expect(attempts).toEqual(new Set(['1', '2']))
}, 90_000)
