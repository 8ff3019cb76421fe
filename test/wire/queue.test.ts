import { describe, expect, test } from 'vitest'
import { chunk, jsonResponse, LAST_CHUNK } from '../fakes/bytes.ts'
import { Gate } from '../fakes/gate.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawClient, rawRequest } from '../fakes/raw-client.ts'
import { streamHead } from '../fakes/sse.ts'
import { stall, wait, write } from '../fakes/steps.ts'
import { eventually, within } from '../kit/patience.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { expectBroken, expectError, expectRetryAfter } from './error-shape.ts'
import { ask, FORMATS } from './formats.ts'
import { stage } from './stage.ts'

// One slot; the routes differ in how long a request may wait and take. `hasty` has a backend of its own, so that nothing
// is known yet of how long its requests take.
const s = stage(['up', 'spare'], ({ up, spare }) =>
  yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: dialect, url: up, provider, concurrency: { max: 1 }, queue: { depth: 1 } }),
      backendYaml({ name: `${dialect}-hasty`, url: up, provider, concurrency: { max: 1 } }),
      backendYaml({ name: `${dialect}-spare`, url: spare, provider }),
      ...[
        { name: `${dialect}-patient`, backends: [dialect], maxWait: '20s' },
        { name: `${dialect}-brief`, backends: [dialect], maxWait: '20s', timeout: '300ms' },
        { name: `${dialect}-hasty`, backends: [`${dialect}-hasty`], maxWait: '200ms' },
        { name: `${dialect}-spared`, backends: [dialect, { name: `${dialect}-spare`, priority: 1 }], maxWait: '0s' },
      ].map(route => routeYaml({ ...route, models: [route.name] })),
    ]),
  ),
)

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const send = (route: string, more: object = {}, headers: Header[] = []) =>
    rawRequest(s.weir.url, ask(format, `${dialect}-${route}`, more, headers))
  const good = [write(jsonResponse(200, format.answer))]
  const begun = [...format.prelude, format.content('x')]
  const backend = async () => (await s.weir.status()).backends.find(({ name }) => name === dialect)!

  /** Takes the only slot until `use` is over, with a stream that then ends well. */
  async function occupied(use: () => Promise<void>, route = 'patient'): Promise<void> {
    const gate = new Gate()
    s.upstreams.up.script([
      write(streamHead(), ...begun.map(chunk)),
      wait(gate),
      write(...format.ending.map(chunk), LAST_CHUNK),
    ])
    const client = await rawClient(s.weir.url)
    try {
      const holder = client.next()
      await client.send(ask(format, `${dialect}-${route}`, { stream: true }))
      await holder.until(({ text }) => text === begun.join(''))
      await use()
      gate.open()
      expect((await holder.done).text).toBe([...begun, ...format.ending].join(''))
    } finally {
      gate.open()
      client.close()
    }
  }

  test('a full queue is refused at once, with a time to come back; who waits is served', async () => {
    let waiting: ReturnType<typeof send> | undefined
    await occupied(async () => {
      s.upstreams.up.script(good)
      waiting = send('patient')
      await eventually(async () => (await backend()).queued === 1)
      const started = performance.now()
      for (const stream of [false, true]) {
        const answer = await send('patient', { stream })
        expectError(answer, format, 'queue_full', { message: /queues are full.*Try again in about \d+ s/ })
        expectRetryAfter(answer, [1000, 33_000])
      }
      expect(performance.now() - started).toBeLessThan(5_000)
    })
    const served = await waiting!
    expect([served.status, served.text]).toEqual([200, format.answer])
    const line = await s.weir.waitForLog(({ requestId }) => requestId === served.header('x-request-id')!)
    expect(line.queueMs).toBeGreaterThan(0)
  })

  test('a full queue moves to the next backend', () =>
    occupied(async () => {
      s.upstreams.spare.script(good)
      const answer = await send('spared')
      expect([answer.status, answer.header('x-weir-backend')]).toEqual([200, `default/${dialect}-spare`])
      expect(answer.header('x-weir-attempts')).toBe('1')
    }))

  test('who has waited as long as the route allows is refused; who would have to wait longer, at once', async () => {
    await occupied(async () => {
      const answer = await send('hasty')
      expectError(answer, format, 'overloaded', { message: /as long as its route allows\. Try again in about \d+ s/ })
      expectRetryAfter(answer, [1000, 33_000])
    }, 'hasty')
    // Now it is known that a slot is held for more than 200 ms.
    await occupied(async () => expectError(await send('hasty'), format, 'queue_full'), 'hasty')
    expect(s.requests('up')).toHaveLength(2)
  })

  test('a deadline that passes in the queue is 504', () =>
    occupied(async () => {
      const headers: Header[] = [['x-request-timeout-ms', '200']]
      expectError(await send('patient', {}, headers), format, 'deadline_exceeded', { message: /200 ms/ })
      expect(s.requests('up')).toHaveLength(1)
    }))

  test.each<[string, string, Header[]]>([
    ["the route's timeout", 'brief', []],
    ['x-request-timeout-ms', 'patient', [['x-request-timeout-ms', '200']]],
    ['x-stainless-timeout', 'patient', [['x-stainless-timeout', '0.2']]],
    [
      'the smallest of several',
      'patient',
      [
        ['x-request-timeout-ms', '200'],
        ['x-stainless-timeout', '60'],
      ],
    ],
  ])('%s that passes before the first byte is 504, and the upstream is let go', async (_, route, headers) => {
    for (const stream of [false, true]) {
      s.upstreams.up.script([stall()])
      const answer = await send(route, { stream }, headers)
      expectError(answer, format, 'deadline_exceeded', { message: /\d+ ms/ })
      expect(answer.header('x-weir-attempts')).toBe('1')
      await within(s.requests('up').at(-1)!.closed, 1_000, 'the close of the upstream connection')
    }
  })

  test('a deadline that passes in the middle of a stream ends it with an error event', async () => {
    s.upstreams.up.script([write(streamHead(), ...begun.map(chunk)), stall()])
    const answer = await send('patient', { stream: true }, [['x-request-timeout-ms', '300']])
    expectBroken(answer, format, begun.join(''), 'deadline_exceeded')
    await within(s.requests('up')[0]!.closed, 1_000, 'the close of the upstream connection')
  })
})
