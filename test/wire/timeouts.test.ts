import { afterAll, describe, expect, test } from 'vitest'
import { chunk, jsonResponse, responseHead } from '../fakes/bytes.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { joined, stream, streamHead } from '../fakes/sse.ts'
import { pause, stall, write } from '../fakes/steps.ts'
import { type Blackhole, blackhole } from '../fakes/unreachable.ts'
import { within } from '../kit/patience.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { expectBroken, expectError } from './error-shape.ts'
import { ask, FORMATS } from './formats.ts'
import { stage } from './stage.ts'

let hole: Blackhole
afterAll(() => hole?.close())

const BACKENDS = {
  'first-byte': { firstByte: '200ms' },
  idle: { idle: '300ms' },
  total: { total: '300ms' },
}

// Each backend is served by a route of its name; `over` goes from a slow one to the spare one, even after a timeout.
const s = stage(['up', 'spare'], async ({ up, spare }) => {
  hole = await blackhole()
  return yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      ...Object.entries(BACKENDS).flatMap(([name, timeouts]) => [
        backendYaml({ name: `${dialect}-${name}`, url: up, provider, timeouts }),
        routeYaml({
          name: `${dialect}-${name}`,
          models: [`${dialect}-${name}`],
          backends: [`${dialect}-${name}`, { name: `${dialect}-spare`, priority: 1 }],
        }),
      ]),
      backendYaml({ name: `${dialect}-spare`, url: spare, provider }),
      backendYaml({ name: `${dialect}-hole`, url: hole.url, provider, timeouts: { connect: '200ms' } }),
      routeYaml({
        name: `${dialect}-hole`,
        models: [`${dialect}-hole`],
        backends: [`${dialect}-hole`],
        retry: { attempts: 1 },
      }),
      routeYaml({
        name: `${dialect}-hole-over`,
        models: [`${dialect}-hole-over`],
        backends: [`${dialect}-hole`, { name: `${dialect}-spare`, priority: 1 }],
      }),
      routeYaml({
        name: `${dialect}-over`,
        models: [`${dialect}-over`],
        backends: [`${dialect}-first-byte`, { name: `${dialect}-spare`, priority: 1 }],
        retry: { failures: ['Timeout'] },
      }),
    ]),
  )
})

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const send = (route: string, streams = false) =>
    rawRequest(s.weir.url, ask(format, `${dialect}-${route}`, { stream: streams }))
  const begun = [...format.prelude, format.content('x')]
  const events = (all: string[]) => write(streamHead(), ...all.map(chunk))
  /** The upstream was let go, and the request was not sent to anybody else: it may have been billed already. */
  const expectGivenUp = async () => {
    await within(s.requests('up').at(-1)!.closed, 1_000, 'the close of the upstream connection')
    expect(s.requests('spare')).toHaveLength(0)
  }

  test('firstByte: a stream that does not begin is 504, and not sent twice', async () => {
    s.upstreams.up.script([stall()])
    expectError(await send('first-byte', true), format, 'upstream_timeout', { message: /no first byte within 200 ms/ })
    await expectGivenUp()
  })

  test('firstByte: a document may take longer, for a model that thinks', async () => {
    s.upstreams.up.script([pause(600), write(jsonResponse(200, format.answer))])
    expect((await send('first-byte')).text).toBe(format.answer)
  })

  test('firstByte: the next backend serves where the route wants that', async () => {
    s.upstreams.up.script([stall()])
    s.upstreams.spare.script(stream(format.stream(['good'])))
    const answer = await send('over', true)
    expect([answer.status, answer.text]).toEqual([200, joined(format.stream(['good'])).toString()])
    expect(answer.header('x-weir-attempts')).toBe('2')
  })

  test('idle: a stream that falls silent ends with an error event', async () => {
    s.upstreams.up.script([events(begun), stall()])
    expectBroken(await send('idle', true), format, begun.join(''), 'upstream_timeout')
    await expectGivenUp()
  })

  test('idle: a stream that falls silent before its content is 504', async () => {
    s.upstreams.up.script([events(format.prelude), stall()])
    expectError(await send('idle', true), format, 'upstream_timeout', { message: /silence for 300 ms/ })
    await expectGivenUp()
  })

  test('idle: comments of the upstream count as life', async () => {
    const wait = [pause(150), write(chunk(': WAIT\n\n'))]
    s.upstreams.up.script([events(begun), wait, wait, wait, stream(format.ending).slice(1)])
    const answer = await send('idle', true)
    expect(answer.text).toBe([...begun, ': WAIT\n\n'.repeat(3), ...format.ending].join(''))
  })

  test('total: a document that does not come is 504', async () => {
    s.upstreams.up.script([stall()])
    expectError(await send('total'), format, 'upstream_timeout', { message: /no complete answer within 300 ms/ })
    await expectGivenUp()
  })

  test('total: a document that stops half way is 504', async () => {
    s.upstreams.up.script([write(responseHead(200, [['content-length', '999']]), '{"a":'), stall()])
    expectError(await send('total'), format, 'upstream_timeout', { message: /no complete answer within 300 ms/ })
    await expectGivenUp()
  })

  test('total: a document that stops half way after its beginning was passed on cuts the connection', async () => {
    s.upstreams.up.script([
      write(responseHead(200, [['content-length', '999999']]), `{"a":"${'x'.repeat(100_000)}`),
      stall(),
    ])
    expect((await send('total')).ending).toBe('cut')
    await expectGivenUp()
  })

  test('total: a stream that goes on and on ends with an error event', async () => {
    const word = [pause(50), write(chunk(format.content('y')))]
    s.upstreams.up.script([events(begun), Array.from({ length: 100 }, () => word)])
    const answer = await send('total', true)
    const passed = answer.text.slice(0, answer.text.lastIndexOf(format.content('y')) + format.content('y').length)
    expectBroken(answer, format, passed, 'upstream_timeout')
    await expectGivenUp()
  })

  test('connect: a backend that does not answer its connections is 502', async () => {
    const started = performance.now()
    expectError(await send('hole'), format, 'upstream_error', { message: /could not be reached/ })
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  test('connect: the next backend serves', async () => {
    s.upstreams.spare.script([write(jsonResponse(200, format.answer))])
    const answer = await send('hole-over')
    expect([answer.status, answer.text, answer.header('x-weir-attempts')]).toEqual([200, format.answer, '2'])
  })
})
