import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { jsonResponse, response, responseHead } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { joined, sse, stream } from '../fakes/sse.ts'
import { early, fin, pause, reset, type Script, write } from '../fakes/steps.ts'
import { refusingUrl } from '../fakes/unreachable.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { expectError } from './error-shape.ts'
import { ask, FORMATS, type Format, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

const HTML = '<html><body>502 Bad Gateway, secret-host.internal</body></html>'
const HTML_HEADERS: Header[] = [
  ['content-type', 'text/html'],
  ['server', 'nginx'],
]

// `openai` is served by first alone, once; `openai-both` by first, then by second; `openai-again` by first up to 3 times.
const s = stage(['first', 'second'], async ({ first, second }) => {
  const refusing = await refusingUrl()
  return yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: `${dialect}-first`, url: first, provider }),
      backendYaml({ name: `${dialect}-second`, url: second, provider }),
      backendYaml({ name: `${dialect}-refusing`, url: refusing, provider }),
      routeYaml({ name: dialect, models: [dialect], backends: [`${dialect}-first`], retry: { attempts: 1 } }),
      routeYaml({
        name: `${dialect}-both`,
        models: [`${dialect}-both`],
        backends: [`${dialect}-first`, { name: `${dialect}-second`, priority: 1 }],
      }),
      routeYaml({
        name: `${dialect}-again`,
        models: [`${dialect}-again`],
        backends: [`${dialect}-first`],
        retry: { backoff: { base: '10ms', max: '1s' } },
      }),
      routeYaml({
        name: `${dialect}-away`,
        models: [`${dialect}-away`],
        backends: [`${dialect}-refusing`, { name: `${dialect}-second`, priority: 1 }],
      }),
      routeYaml({ name: `${dialect}-nowhere`, models: [`${dialect}-nowhere`], backends: [`${dialect}-refusing`] }),
    ]),
  )
})

/** Failures before anything was sent to the client. */
function failures(format: Format): [string, Script][] {
  const error = format.error('api_error', 'upstream-text', 429)
  return [
    ['200 with an error body (wire case 10)', [write(jsonResponse(200, '{"error":{"code":429}}'))]],
    ['200 with an error body of the dialect (wire case 10)', [write(jsonResponse(200, error))]],
    ['200 with text where JSON is due (wire case 10)', [write(jsonResponse(200, 'oops'))]],
    ['200 with an empty body', [write(jsonResponse(200, ''))]],
    ['200 with half a document', [write(jsonResponse(200, format.answer.slice(0, 40)))]],
    ['200 with a large text', [write(response(200, [['content-type', 'application/json']], 'x'.repeat(200_000)))]],
    ['200 with a page', [write(response(200, HTML_HEADERS, HTML))]],
    ['200 with a compressed error', [write(response(200, [['content-encoding', 'gzip']], gzipSync(error)))]],
    ['200 whose body is cut', [write(responseHead(200, [['content-length', '999']]), '{"a":'), fin()]],
    ['a stream whose first event is an error', stream([format.errorEvent('a', 'b')])],
    [
      '302',
      [
        write(
          responseHead(302, [
            ['location', '/elsewhere'],
            ['content-length', '0'],
          ]),
        ),
      ],
    ],
    ['503', [write(jsonResponse(503, format.error('api_error', 'upstream-text')))]],
    ['529', [write(jsonResponse(529, format.error('overloaded_error', 'upstream-text')))]],
    ['429', [write(jsonResponse(429, format.error('rate_limit_error', 'upstream-text'), [['retry-after', '7']]))]],
    ['502 with a page (wire case 11)', [write(response(502, HTML_HEADERS, HTML))]],
    ['500 whose body never ends', [write(responseHead(500, [['content-length', '9']]), 'x'), pause(3_000)]],
    ['500 with a body of a megabyte', [write(response(500, HTML_HEADERS, 'x'.repeat(1024 * 1024)))]],
    ['RST before the head', [reset()]],
    ['RST before the body of the request was read', [early(), reset()]],
    ['FIN before the head', [fin()]],
    ['RST inside the head', [write('HTTP/1.1 200 OK\r\ncontent-'), pause(20), reset()]],
    ['what is no HTTP', [write('SSH-2.0-OpenSSH_9.2\r\n')]],
    ['headers of 70 KB', [write(responseHead(200, [['x-large', 'y'.repeat(70_000)]]))]],
  ]
}

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const send = (route: string, more: object = {}) => rawRequest(s.weir.url, ask(format, `${dialect}${route}`, more))
  const good = [write(jsonResponse(200, format.answer))]
  const error = format.error('rate_limit_error', 'upstream-text', 'insufficient_quota')

  test.each(failures(format))('a first backend that answers %s: the second serves, one answer', async (_, failure) => {
    for (const streams of [false, true]) {
      const events = format.stream(['good'])
      s.upstreams.first.script(failure)
      s.upstreams.second.script(streams ? stream(events) : good)
      const answer = await send('-both', { stream: streams })
      expect([answer.status, answer.clean]).toEqual([200, true])
      expect(answer.text).toBe(streams ? joined(events).toString() : format.answer)
      expect(answer.header('x-weir-attempts')).toBe('2')
      expect(answer.header('x-weir-backend')).toBe(`default/${dialect}-second`)
    }
    const bodies = [...s.requests('first'), ...s.requests('second')].map(({ body }) => body.toString())
    expect(new Set(bodies).size).toBeLessThanOrEqual(2)
  })

  test('a first backend that refuses the connection: the second serves', async () => {
    s.upstreams.second.script(good)
    const answer = await send('-away')
    expect([answer.status, answer.text, answer.header('x-weir-attempts')]).toEqual([200, format.answer, '2'])
  })

  test('nobody to connect to is 502', async () => {
    expectError(await send('-nowhere'), format, 'upstream_error', { message: /could not be reached/ })
  })

  test.each([
    ['wire case 11: 502 with a page', 502, [write(response(502, HTML_HEADERS, HTML))]],
    ['404 with a page', 404, [write(response(404, HTML_HEADERS, HTML))]],
    [
      'a redirect',
      502,
      [
        write(
          responseHead(301, [
            ['location', 'http://secret-host.internal/'],
            ['content-length', '0'],
          ]),
        ),
      ],
    ],
    ['500 with JSON that is no error', 500, [write(jsonResponse(500, { detail: 'secret-host.internal' }))]],
    ['503 without a body', 503, [write(responseHead(503, [['content-length', '0']]))]],
    ['wire case 10: 200 with a bare error', 502, [write(jsonResponse(200, '{"error":{"code":429}}'))]],
    ['wire case 10: 200 with text', 502, [write(jsonResponse(200, 'oops'))]],
    ['RST', 502, [reset()]],
    ['what is no HTTP', 502, [write('SSH-2.0-OpenSSH_9.2\r\n')]],
  ] satisfies [string, number, Script][])(
    '%s is a standard error object, without what the upstream wrote',
    async (_, status, failure) => {
      for (const streams of [false, true]) {
        s.upstreams.first.script(failure)
        const answer = await send('', { stream: streams })
        expectError(answer, format, 'upstream_error', { status, message: new RegExp(`default/${dialect}-first`) })
        expect(answer.head.raw.toString() + answer.text).not.toMatch(/html|nginx|secret-host|location/i)
        expect(answer.header('x-weir-attempts')).toBe('1')
      }
    },
  )

  test.each([400, 401, 404, 408, 413, 422, 429, 500, 503])(
    'wire case 12: a %i of the dialect passes as it is',
    async status => {
      for (const streams of [false, true]) {
        s.upstreams.first.script([write(jsonResponse(status, error, [['x-theirs', '1']]))])
        const answer = await send('', { stream: streams })
        expect([answer.status, answer.text, answer.header('x-theirs')]).toEqual([status, error, '1'])
        expect(answer.header('x-weir-code')).toBe('upstream_error')
        expect(answer.header('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      }
    },
  )

  test('wire case 12: a compressed error passes readable', async () => {
    s.upstreams.first.script([write(response(400, [['content-encoding', 'gzip']], gzipSync(error)))])
    const answer = await send('')
    expect([answer.status, answer.header('content-encoding'), answer.text]).toEqual([400, undefined, error])
  })

  test('wire case 10: an error of the dialect inside a 200 comes with the status that it names', async () => {
    const [status, code] = format === OPENAI ? [429, 429] : [502, undefined]
    for (const streams of [false, true]) {
      const body = format.error('rate_limit_error', 'slow down', code)
      s.upstreams.first.script([write(jsonResponse(200, body))])
      const answer = await send('', { stream: streams })
      expect([answer.status, answer.text]).toEqual([status, body])
    }
  })

  test('wire case 10: an error as the first event of a stream is an answer with a status, no stream', async () => {
    const data = format.error('rate_limit_error', 'slow down', 429)
    s.upstreams.first.script(stream([sse(data, 'error')]))
    const answer = await send('', { stream: true })
    expect(answer.status).toBe(format === OPENAI ? 429 : 502)
    expect(answer.text).toBe(data)
    expect(answer.header('content-type')).toMatch(/^application\/json/)
  })

  test.each([
    [
      'of the dialect',
      [
        write(
          jsonResponse(429, error, [
            ['retry-after', '7'],
            ['x-should-retry', 'true'],
          ]),
        ),
      ],
    ],
    ['as a page', [write(response(429, [...HTML_HEADERS, ['retry-after', '7'], ['x-should-retry', 'true']], HTML))]],
  ] satisfies [string, Script][])('wire case 13: the Retry-After of a 429 %s reaches the client', async (_, script) => {
    // The wait is longer than the route's own, so it is not tried again.
    for (const route of ['', '-again']) {
      s.upstreams.first.script(script)
      const answer = await send(route)
      expect([answer.status, answer.header('retry-after'), answer.header('x-should-retry')]).toEqual([429, '7', 'true'])
      expect(answer.text).not.toContain('html')
    }
    expect(s.requests('first')).toHaveLength(2)
  })

  test.each(['503', 'error body', '429'])('a single backend is tried again after %s', async kind => {
    const failure = failures(format).find(([name]) => name.includes(kind))![1]
    const short = [write(jsonResponse(429, error, [['retry-after-ms', '20']]))]
    s.upstreams.first.script(kind === '429' ? short : failure, kind === '429' ? short : failure, good)
    const answer = await send('-again')
    expect([answer.status, answer.text, answer.header('x-weir-attempts')]).toEqual([200, format.answer, '3'])
  })

  test('a reset before the head is tried again once, not twice', async () => {
    s.upstreams.first.script([reset()], [reset()], good)
    expectError(await send('-again'), format, 'upstream_error', { message: /closed the connection/ })
    expect(s.requests('first')).toHaveLength(2)
    expect((await send('-again')).status).toBe(200)
  })

  test("a caller's own fault is not tried again", async () => {
    const body = format.error('invalid_request_error', 'bad body', 'x')
    s.upstreams.first.script([write(jsonResponse(400, body))])
    const answer = await send('-both')
    expect([answer.status, answer.text, answer.header('x-weir-attempts')]).toEqual([400, body, '1'])
    expect(s.requests('second')).toHaveLength(0)
  })

  test('an upstream that refuses a large body before it has read it is heard', async () => {
    const body = format.error('request_too_large', 'too large', 'x')
    s.upstreams.first.script([early(), write(jsonResponse(413, body, [['connection', 'close']])), fin()])
    const answer = await send('', { text: 'x'.repeat(8 * 1024 * 1024) })
    expect([answer.status, answer.text]).toEqual([413, body])
  })

  test('interim answers of an upstream are not the answer', async () => {
    s.upstreams.first.script([
      write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'),
      write(jsonResponse(200, format.answer)),
    ])
    const answer = await send('')
    expect([answer.status, answer.text, answer.informational]).toEqual([200, format.answer, []])
  })
})
