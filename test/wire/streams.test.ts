import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { chunk, LAST_CHUNK, responseHead } from '../fakes/bytes.ts'
import { Gate } from '../fakes/gate.ts'
import { rawClient, rawRequest } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { joined, stream, streamHead, usageChunk } from '../fakes/sse.ts'
import { fin, pause, reset, type Script, stall, wait, write } from '../fakes/steps.ts'
import { within } from '../kit/patience.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { expectBroken } from './error-shape.ts'
import { ANTHROPIC, ask, FORMATS, type Format, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

// Each dialect's model is served by `first`, and by `second` when that cannot.
const s = stage(['first', 'second'], ({ first, second }) =>
  yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: `${dialect}-first`, url: first, provider }),
      backendYaml({ name: `${dialect}-second`, url: second, provider }),
      routeYaml({
        name: dialect,
        models: [dialect],
        backends: [`${dialect}-first`, { name: `${dialect}-second`, priority: 1 }],
      }),
    ]),
  ),
)

const askStream = (format: Format) => ask(format, format.dialect, { stream: true })

/** The answer to a stream whose upstream does what `script` says after the head. */
function streamed(format: Format, ...script: Script): Promise<RawResponse> {
  s.upstreams.first.script([write(streamHead()), script])
  return rawRequest(s.weir.url, askStream(format))
}

/** Runs `use` on a response that may still be running. */
async function open(format: Format, use: (response: RawResponse) => Promise<void>): Promise<void> {
  const client = await rawClient(s.weir.url)
  try {
    const response = client.next()
    await client.send(askStream(format))
    await use(response)
  } finally {
    client.close()
  }
}

const events = (...all: string[]) => all.map(event => write(chunk(event)))
const logOf = (response: RawResponse) => s.weir.waitForLog(line => line.requestId === response.header('x-request-id')!)

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (_dialect, format) => {
  const { prelude, content, ending } = format
  const begun = [...prelude, content('x')]

  test.each(['\n', '\r\n'])(
    'wire case 1: an event split across two writes stays one event, lines ending in %j',
    async end => {
      const event = `id: 1\n${content('a')}`.replaceAll('\n', end)
      // Behind the end of a line, where a gateway that counts lines would take the event for ended.
      for (const at of [`id: 1${end}`.length, event.length - end.length, 15]) {
        const gate = new Gate()
        s.upstreams.first.script([
          write(streamHead()),
          events(...begun, event.slice(0, at)),
          wait(gate),
          events(event.slice(at), ...ending),
          write(LAST_CHUNK),
        ])
        await open(format, async response => {
          await response.until(({ text }) => text === begun.join(''))
          // The first part has left the upstream; it must not leave the gateway.
          await sleep(50)
          expect(response.text).toBe(begun.join(''))
          gate.open()
          await response.done
          expect(response.text).toBe([...begun, event, ...ending].join(''))
        })
      }
    },
  )

  test('wire case 2: events framed by CRLF are forwarded at once', async () => {
    const gates = [new Gate(), new Gate(), new Gate()]
    const crlf = ['1', '2', '3'].map(text => content(text).replaceAll('\n', '\r\n'))
    s.upstreams.first.script([
      write(streamHead()),
      ...crlf.flatMap((event, i) => [write(chunk(event)), wait(gates[i]!)]),
      events(...ending.map(event => event.replaceAll('\n', '\r\n'))),
      write(LAST_CHUNK),
    ])
    await open(format, async response => {
      for (const [i, gate] of gates.entries()) {
        // The upstream goes on only once the client has the event: a gateway that held it would hang here.
        const seen = crlf.slice(0, i + 1).join('')
        await within(
          response.until(({ text }) => text === seen),
          5_000,
          `event ${i}`,
        )
        gate.open()
      }
      await response.done
      expect(response.text).toBe([...crlf, ...ending.map(event => event.replaceAll('\n', '\r\n'))].join(''))
    })
  })

  test('wire case 3: a comment before an event stays a comment', async () => {
    const all = [': WAIT\n\n', ...prelude, ': WAIT\n\n', content('a'), ':\n\n', ...ending]
    const answer = await streamed(format, ...events(...all), write(LAST_CHUNK))
    expect(answer.text).toBe(all.join(''))
    expect(answer.text).not.toMatch(/data: *: *WAIT/)
  })

  test('wire case 4: a data line of 2 MB is delivered whole', async () => {
    const large = content('ü'.repeat(1024 * 1024))
    const answer = await streamed(format, ...events(...prelude, large, content('z'), ...ending), write(LAST_CHUNK))
    expect(answer.body.equals(joined([...prelude, large, content('z'), ...ending]))).toBe(true)
    expect(answer.clean).toBe(true)
  })

  test('wire case 4: a data line that is cut inside its 2 MB cuts the connection, as no event could follow it', async () => {
    const large = content('x'.repeat(2 * 1024 * 1024))
    const answer = await streamed(format, ...events(...begun, large.slice(0, 1024 * 1024)), pause(200), reset())
    expect(answer.ending).toBe('cut')
    expect([...begun, large].join('').startsWith(answer.text)).toBe(true)
    expect(await logOf(answer)).toMatchObject({ outcome: 'Failed', code: 'upstream_error' })
  })

  test.each<[string, Script]>([
    ['RST (wire case 5)', [pause(50), reset()]],
    ['a proper end of the chunks (wire case 6)', [write(LAST_CHUNK)]],
    ['FIN (wire case 6)', [fin()]],
    ['half an event, then RST', [write(chunk('data: {"cho')), pause(50), reset()]],
    ['half an event, then FIN', [write(chunk('event: x\nda')), fin()]],
    ['a broken chunk', [write('zz\r\n')]],
  ])('content, then %s: an error event of the dialect ends the stream, not success', async (_, broken) => {
    const answer = await streamed(format, ...events(...begun), broken)
    expectBroken(answer, format, begun.join(''), 'upstream_error')
    expect(s.requests('second')).toHaveLength(0)
    expect(await logOf(answer)).toMatchObject({ outcome: 'Failed', status: 200, code: 'upstream_error', attempts: 1 })
  })

  test('wire case 6: content, then FIN, without chunks: an error event as well', async () => {
    s.upstreams.first.script([write(responseHead(200, [['content-type', 'text/event-stream']]), joined(begun)), fin()])
    const answer = await rawRequest(s.weir.url, askStream(format))
    expectBroken(answer, format, begun.join(''), 'upstream_error')
  })

  test('a finish reason without a terminator is complete, however the stream is cut', async () => {
    for (const end of [[fin()], [pause(50), reset()], [write(LAST_CHUNK)]]) {
      const all = [...begun, ...ending.slice(0, -1)]
      const answer = await streamed(format, ...events(...all), end)
      expect([answer.ending, answer.text]).toEqual(['chunked', all.join('')])
      expect(await logOf(answer)).toMatchObject({ outcome: 'Served', code: null })
    }
  })

  test('wire case 9: content, then an error of the upstream: no switch, the error passes, no second beginning', async () => {
    const error = format.errorEvent('overloaded_error', 'over capacity')
    for (const end of [[write(LAST_CHUNK)], [fin()], [pause(50), reset()]]) {
      const answer = await streamed(format, ...events(...begun, error), end)
      expect([answer.ending, answer.text]).toEqual(['chunked', [...begun, error].join('')])
      expect(s.requests('second')).toHaveLength(0)
      expect(await logOf(answer)).toMatchObject({ outcome: 'Failed', code: 'upstream_error' })
    }
  })

  test.each<[string, (prelude: string[]) => Script]>([
    ['RST', held => [events(...held), pause(50), reset()]],
    ['FIN', held => [events(...held), fin()]],
    ['the end of the chunks', held => [events(...held), write(LAST_CHUNK)]],
    ['an error event', held => [events(...held, format.errorEvent('overloaded_error', 'no')), write(LAST_CHUNK)]],
    ['an error event and then silence', held => [events(...held, format.errorEvent('api_error', 'no')), stall()]],
    ['half an event and RST', held => [events(...held), write(chunk('data: {"a')), pause(50), reset()]],
  ])('a prelude is held, so that after %s the next backend serves, one answer', async (_, broken) => {
    for (const held of [[], [': WAIT\n\n', ...prelude]]) {
      s.upstreams.second.script(stream(format.stream(['good'])))
      const answer = await streamed(format, broken(held))
      expect([answer.status, answer.text]).toEqual([200, joined(format.stream(['good'])).toString()])
      expect(answer.header('x-weir-attempts')).toBe('2')
      expect(answer.header('x-weir-backend')).toBe(`default/${format.dialect}-second`)
    }
    expect(s.requests('second')).toHaveLength(2)
  })

  test('a prelude is held for two seconds at most; what breaks later is told', async () => {
    s.upstreams.first.script([write(streamHead()), events(...prelude), stall()])
    await open(format, async response => {
      await response.until(({ text }) => text === prelude.join(''))
      expect(response.arrivals[0]!.at - s.requests('first')[0]!.at).toBeGreaterThan(1_500)
    })
    await s.requests('first')[0]!.closed
  })

  test('a prelude of more than 64 events passes', async () => {
    const many = Array.from({ length: 70 }, () => prelude.at(-1)!)
    s.upstreams.first.script([write(streamHead()), events(...many), stall()])
    const started = performance.now()
    await open(format, async response => {
      await response.until(({ text }) => text.startsWith(many.slice(0, 65).join('')))
      expect(performance.now() - started).toBeLessThan(1_500)
    })
  })
})

test('wire case 2: the usage is metered when the events are framed by CRLF and [DONE] has no space', async () => {
  const all = [...OPENAI.prelude, OPENAI.content('x'), OPENAI.ending[0]!, usageChunk(11, 7)].map(event =>
    event.replaceAll('\n', '\r\n'),
  )
  const answer = await streamed(OPENAI, ...events(...all, 'data:[DONE]\r\n\r\n'), write(LAST_CHUNK))
  expect(answer.text).toBe([...all, 'data:[DONE]\r\n\r\n'].join(''))
  expect(await logOf(answer)).toMatchObject({ outcome: 'Served', tokensIn: 11, tokensOut: 7 })
})

test('wire case 8: a message stream that dies ends with event: error, as the SDKs read it', async () => {
  const begun = [...ANTHROPIC.prelude, ANTHROPIC.content('x')]
  const answer = await streamed(ANTHROPIC, ...events(...begun), pause(50), reset())
  const last = answer.text.slice(begun.join('').length)
  expect(last).toMatch(/^event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"[^"]+"\},/)
  expect(answer.text.match(/^event: message_start$/gm)).toHaveLength(1)
})
