import { afterEach, expect, test } from 'vitest'
import { eventually, within } from '../kit/patience.ts'
import { chunk, jsonRequest, jsonResponse, LAST_CHUNK, request, response, responseHead } from './bytes.ts'
import { Gate } from './gate.ts'
import { type RawClient, rawClient, rawRequest } from './raw-client.ts'
import { chatEvents, joined, stream, streamHead } from './sse.ts'
import { body, early, fin, pause, reset, type Script, splits, stall, wait, write } from './steps.ts'
import { type ScriptedUpstream, scriptedUpstream, type UpstreamOptions } from './upstream.ts'

const owned: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of owned.splice(0).reverse()) await close()
})

async function start(options?: UpstreamOptions): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(options)
  owned.push(() => upstream.close())
  return upstream
}

async function connectTo(upstream: ScriptedUpstream): Promise<RawClient> {
  const client = await rawClient(upstream.url)
  owned.push(() => client.close())
  return client
}

const OK = jsonResponse(200, '{"ok":true}')
const ASK = jsonRequest('/v1/chat/completions?a=1', '{"model":"m"}', [['X-Case', 'Kept']])

test('records a request exactly and answers with exact bytes', async () => {
  const upstream = (await start()).script([write(OK)])
  const client = await connectTo(upstream)
  await client.send(ASK)
  await client.response()
  expect(client.received).toEqual(OK)
  const [received] = upstream.requests
  expect(received).toMatchObject({ index: 0, method: 'POST', path: '/v1/chat/completions?a=1', version: 'HTTP/1.1' })
  expect(Buffer.concat([received!.raw, received!.rawBody])).toEqual(ASK)
  expect(received!.headers).toEqual([
    ['host', 'localhost'],
    ['content-type', 'application/json'],
    ['X-Case', 'Kept'],
    ['content-length', '13'],
  ])
  expect(received!.header('x-case')).toBe('Kept')
  expect(received!.json()).toEqual({ model: 'm' })
  expect(received!.connection).toBe(upstream.connections[0])
  expect(received!.completedAt).toBeGreaterThanOrEqual(received!.at)
})

test('records a chunked body both ways', async () => {
  const upstream = (await start()).script([write(OK)])
  const wire = `${chunk('hel')}${chunk('lo')}${LAST_CHUNK}`
  await rawRequest(upstream.url, request({ path: '/', headers: [['Transfer-Encoding', 'chunked']], body: wire }))
  expect(upstream.requests[0]!.body.toString()).toBe('hello')
  expect(upstream.requests[0]!.rawBody.toString()).toBe(wire)
})

test('a script waits for the whole body, however it is cut', async () => {
  const upstream = (await start()).script([write(OK)])
  const client = await connectTo(upstream)
  const answer = client.next()
  const sent = client.sendPieces(ASK, [3, 40, ASK.length - 1], 30)
  const received = await upstream.request(0)
  expect(received.completedAt).toBeUndefined()
  expect(answer.hasHead).toBe(false)
  await sent
  expect((await answer.done).json()).toEqual({ ok: true })
})

test('a script that begins with early answers before the body has come', async () => {
  const upstream = (await start()).script([early(), write('HTTP/1.1 100 Continue\r\n\r\n'), body(), write(OK)])
  const client = await connectTo(upstream)
  const answer = client.next()
  await client.send(
    request({
      path: '/',
      headers: [
        ['Expect', '100-continue'],
        ['Content-Length', '5'],
      ],
    }),
  )
  await eventually(() => answer.informational.length === 1)
  expect(answer.informational[0]).toMatchObject({ status: 100 })
  expect(answer.hasHead).toBe(false)
  await client.send('hello')
  expect((await answer.done).status).toBe(200)
  expect(upstream.requests[0]!.body.toString()).toBe('hello')
})

test('many requests on one connection, pipelined ones in order', async () => {
  const upstream = (await start()).on(({ path }) => [pause(path === '/0' ? 50 : 0), write(jsonResponse(200, { path }))])
  const client = await connectTo(upstream)
  await client.send(...[0, 1, 2].map(i => request({ path: `/${i}`, body: `${i}` })))
  const answers = [client.next(), client.next(), client.next()]
  const paths = await Promise.all(answers.map(async answer => (await answer.done).json()))
  expect(paths).toEqual([{ path: '/0' }, { path: '/1' }, { path: '/2' }])
  expect(upstream.connections).toHaveLength(1)
  expect(upstream.connections[0]!.requests).toEqual(upstream.requests)
  expect(client.unread).toHaveLength(0)
})

test('scripts go before the handler, and a handler sees the complete body', async () => {
  const upstream = await start()
  upstream.script([write(response(503, [], 'first'))]).on(async seen => [write(response(200, [], seen.body))])
  expect((await rawRequest(upstream.url, ASK)).status).toBe(503)
  expect((await rawRequest(upstream.url, ASK)).text).toBe('{"model":"m"}')
})

test('a handler at the head is asked before the body', async () => {
  const upstream = await start()
  upstream.on(seen => [early(), write(response(200, [], `${seen.body.length}`))], { at: 'head' })
  const client = await connectTo(upstream)
  await client.send(request({ path: '/', headers: [['content-length', '5']] }))
  expect((await client.response()).text).toBe('0')
})

test('splits arrive apart, and a gate holds until it is opened', async () => {
  const gate = new Gate()
  const upstream = (await start()).script([
    splits(responseHead(200, [['content-length', '4']]), [5]),
    write('ab'),
    wait(gate),
    write('cd'),
  ])
  const client = await connectTo(upstream)
  await client.send(ASK)
  const answer = await client.next().until(({ text }) => text === 'ab')
  expect(answer.ending).toBeUndefined()
  gate.open()
  expect((await answer.done).text).toBe('abcd')
  expect(answer.arrivals.map(({ content }) => content.toString())).toEqual(['ab', 'cd'])
})

test('an event stream, one chunk an event', async () => {
  const events = chatEvents(['a', 'b'])
  const upstream = (await start()).script(stream(events))
  const answer = await rawRequest(upstream.url, ASK)
  expect(answer).toMatchObject({ ending: 'chunked', clean: true })
  expect(answer.body).toEqual(joined(events))
  expect(answer.rawBody.toString()).toBe(`${events.map(event => chunk(event)).join('')}${LAST_CHUNK}`)
})

test('reset cuts with RST after what was written has arrived', async () => {
  const upstream = (await start()).script([write(streamHead(), chunk('data: x\n\n')), reset()])
  const answer = await rawRequest(upstream.url, ASK)
  expect(answer).toMatchObject({ status: 200, text: 'data: x\n\n', ending: 'cut', cutBy: 'reset', clean: false })
  expect(await upstream.requests[0]!.closed).toMatchObject({ how: 'script' })
  await upstream.requests[0]!.answered
})

test('a reset before the head leaves no answer', async () => {
  const upstream = (await start()).script([reset()])
  const answer = await rawRequest(upstream.url, ASK)
  expect(answer).toMatchObject({ hasHead: false, ending: 'cut', cutBy: 'reset' })
  expect(() => answer.status).toThrow(/no response head/)
})

test('fin ends a body that has no other end, and cuts one that has', async () => {
  const upstream = await start()
  upstream.script(
    [write(responseHead(200), 'all'), fin()],
    [write(responseHead(200, [['content-length', '9']]), 'some'), fin()],
  )
  expect(await rawRequest(upstream.url, ASK)).toMatchObject({
    text: 'all',
    ending: 'close',
    cutBy: 'fin',
    clean: false,
  })
  expect(await rawRequest(upstream.url, ASK)).toMatchObject({ text: 'some', ending: 'cut', cutBy: 'fin', clean: false })
  expect(await upstream.connections[1]!.closed).toMatchObject({ how: 'fin' })
})

test.each([
  ['a stall', [stall()]],
  ['a gate that stays shut', [wait(new Gate())]],
  ['a pause', [pause(60_000)]],
  ['nothing yet, for want of a body', [early(), body()]],
] satisfies [string, Script][])('a client that goes away ends %s', async (_, script) => {
  for (const leave of ['abort', 'close'] as const) {
    const upstream = (await start()).script(script)
    const client = await connectTo(upstream)
    await client.send(
      request({ path: '/', headers: [['content-length', '1']], ...(script[0]?.do !== 'early' && { body: 'x' }) }),
    )
    const received = await upstream.request(0)
    expect(upstream.open).toBe(1)
    client[leave]()
    expect((await within(received.closed, 1_000, 'the close')).how).toBe(leave === 'abort' ? 'reset' : 'fin')
    await within(received.answered, 1_000, 'the end of the script')
    expect(upstream.open).toBe(0)
  }
})

test('a client that goes away is seen while a script writes for ever', async () => {
  const forever: Script = Array.from({ length: 10_000 }, () => [write('x'.repeat(10_000)), pause(1)])
  const upstream = (await start()).script([write(responseHead(200)), forever])
  const client = await connectTo(upstream)
  await client.send(ASK)
  await client.next().until(({ body }) => body.length > 50_000)
  client.abort()
  expect((await within((await upstream.request(0)).closed, 1_000, 'the close')).how).toBe('reset')
  await within(upstream.requests[0]!.answered, 1_000, 'the end of the script')
})

test('a half-closed client still gets its answer where that is wanted', async () => {
  const gate = new Gate()
  const upstream = (await start({ halfOpen: true })).script([wait(gate), write(OK), fin()])
  const client = await connectTo(upstream)
  await client.send(ASK)
  client.end()
  expect((await upstream.request(0)).closed).toBeInstanceOf(Promise)
  expect((await upstream.requests[0]!.closed).how).toBe('fin')
  gate.open()
  expect((await client.response()).json()).toEqual({ ok: true })
})

test('a body that stays away is told from one that has come', async () => {
  const upstream = (await start()).script([write(OK)])
  const client = await connectTo(upstream)
  await client.send(request({ path: '/', headers: [['content-length', '10']], body: 'half' }))
  const received = await upstream.request(0)
  await eventually(() => received.body.length === 4)
  client.close()
  expect(await received.complete).toBe(false)
})

test('a request without a script is answered with 500 and is a fault that close throws', async () => {
  const upstream = await scriptedUpstream()
  expect((await rawRequest(upstream.url, ASK)).status).toBe(500)
  await expect(upstream.close()).rejects.toThrow('no script for request 0, POST /v1/chat/completions?a=1')
})

test.each([
  'HELLO\r\n\r\n',
  'POST / HTTP/1.1\r\nno colon\r\n\r\n',
  'POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
  'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
])('what is no HTTP/1.1 is a fault: %j', async wire => {
  const upstream = await start()
  upstream.on(() => [write(OK)])
  await rawRequest(upstream.url, wire)
  expect(upstream.faults.splice(0).map(String)).toEqual([
    expect.stringContaining('connection 0 sent what is no HTTP/1.1'),
  ])
})

test('a script that fails is a fault', async () => {
  const upstream = await start()
  upstream.on(() => {
    throw new Error('the test is wrong')
  })
  const client = await connectTo(upstream)
  await client.send(ASK)
  await (await upstream.request(0)).answered
  expect(upstream.faults.splice(0)[0]).toMatchObject({ cause: { message: 'the test is wrong' } })
})

test('the same port can be taken again, so that an upstream comes back', async () => {
  const first = await scriptedUpstream()
  await first.close()
  const again = await start({ port: first.port })
  again.script([write(OK)])
  expect((await rawRequest(first.url, ASK)).status).toBe(200)
})

test('a request that never comes is named', async () => {
  await expect((await start()).request(0, 20)).rejects.toThrow('request 0 at the upstream: not within 20 ms')
})
