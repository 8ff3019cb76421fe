import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { within } from '../kit/patience.ts'
import { rawClient, rawRequest } from './raw-client.ts'

const owned: (() => void)[] = []
afterEach(() => {
  for (const close of owned.splice(0)) close()
})

/** A server that does what it is told with each socket; it shares no code with the client under test. */
async function serve(onSocket: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer({ allowHalfOpen: true }, socket => {
    owned.push(() => socket.destroy())
    socket.on('error', () => {})
    onSocket(socket)
  })
  owned.push(() => server.close())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}

const answering = (...pieces: string[]) =>
  serve(socket => socket.once('data', () => void pieces.map(piece => socket.write(piece))))
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

test('sends exactly what it is given, in pieces', async () => {
  const arrived: string[] = []
  const url = await serve(socket =>
    socket.on('data', bytes => {
      arrived.push(bytes.toString())
      if (arrived.join('').endsWith('\r\n\r\n')) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    }),
  )
  const client = await rawClient(url)
  owned.push(() => client.close())
  await client.sendPieces(GET, [4, 10], 50)
  expect(await client.response()).toMatchObject({ status: 204, ending: 'empty', clean: true })
  expect(arrived).toEqual([GET.slice(0, 4), GET.slice(4, 10), GET.slice(10)])
})

test('a body with a length', async () => {
  const wire = 'HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello'
  const answer = await rawRequest(await answering(wire), GET)
  expect(answer).toMatchObject({ status: 200, text: 'hello', ending: 'length', clean: true })
  expect(answer.headers).toEqual([
    ['X-A', '1'],
    ['Content-Length', '5'],
  ])
  expect(answer.head.reason).toBe('OK')
  expect(answer.head.raw.toString()).toBe(wire.slice(0, -5))
})

test('a chunked body, with its trailers, both ways', async () => {
  const wire = '3\r\nabc\r\n2\r\nde\r\n0\r\nX-End: yes\r\n\r\n'
  const answer = await rawRequest(await answering(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${wire}`), GET)
  expect(answer).toMatchObject({ text: 'abcde', ending: 'chunked', clean: true, trailers: [['X-End', 'yes']] })
  expect(answer.rawBody.toString()).toBe(wire)
})

test('interim responses are kept apart from the answer', async () => {
  const url = await answering(
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  )
  const answer = await rawRequest(url, GET)
  expect(answer.informational.map(({ status }) => status)).toEqual([100, 103])
  expect(answer).toMatchObject({ status: 200, ending: 'empty' })
})

test('the answer to HEAD has no body, whatever its length says', async () => {
  const url = await answering('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n')
  expect(await rawRequest(url, 'HEAD / HTTP/1.1\r\nhost: x\r\n\r\n', { method: 'HEAD' })).toMatchObject({
    ending: 'empty',
  })
})

test('answers on one connection are told apart, and what nobody asked for is shown', async () => {
  const one = 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n'
  const client = await rawClient(await answering(`${one}1${one}2extra`))
  owned.push(() => client.close())
  await client.send(GET)
  expect((await client.response()).text).toBe('1')
  expect((await client.response()).text).toBe('2')
  expect(client.unread.toString()).toBe('extra')
})

test.each([
  ['fin', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'],
  ['fin', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ['reset', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'],
] as const)('a body cut by %s is no clean end: %j', async (how, wire) => {
  const url = await serve(socket =>
    socket.once('data', () =>
      socket.write(wire, () => {
        if (how === 'fin') socket.end()
        else socket.resetAndDestroy()
      }),
    ),
  )
  expect(await rawRequest(url, GET)).toMatchObject({ text: 'half', ending: 'cut', cutBy: how, clean: false })
})

test('arrivals carry their times', async () => {
  const url = await serve(socket =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na')
      setTimeout(() => socket.write('b'), 60)
    }),
  )
  const { arrivals } = await rawRequest(url, GET)
  expect(arrivals.map(({ content }) => content.toString())).toEqual(['a', 'b'])
  expect(arrivals[1]!.at).toBeGreaterThan(arrivals[0]!.at)
})

test('abort is RST for the server, close and end are FIN', async () => {
  for (const [leave, seen] of [
    ['abort', 'ECONNRESET'],
    ['close', 'end'],
    ['end', 'end'],
  ] as const) {
    const { promise, resolve } = Promise.withResolvers<string>()
    const url = await serve(socket => {
      socket.on('data', () => {})
      socket.on('end', () => resolve('end'))
      socket.on('error', error => resolve((error as NodeJS.ErrnoException).code!))
    })
    const client = await rawClient(url)
    owned.push(() => client.close())
    await client.send(GET)
    client[leave]()
    expect(await within(promise, 1_000, 'the close')).toBe(seen)
  }
})

test('after end the answer is still read', async () => {
  const url = await serve(socket => {
    socket.on('data', () => {})
    socket.on('end', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  })
  const client = await rawClient(url)
  owned.push(() => client.close())
  await client.send(GET)
  client.end()
  expect((await client.response()).text).toBe('ok')
})

test('aborting ends the response that runs', async () => {
  const client = await rawClient(await answering('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'))
  await client.send(GET)
  const answer = await client.next().until(({ text }) => text === 'half')
  client.abort()
  expect(await answer.done).toMatchObject({ ending: 'cut', cutBy: 'self' })
  expect(await client.closed).toBe('self')
})

test('waiting for what never comes ends with the response', async () => {
  const client = await rawClient(await answering('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody'))
  owned.push(() => client.close())
  await client.send(GET)
  await expect(client.next().until(({ text }) => text === 'other')).rejects.toThrow(/ended \(length\).*"body"/)
})

test('what is no HTTP/1.1 rejects', async () => {
  await expect(rawRequest(await answering('SSH-2.0-x\r\n\r\n'), GET)).rejects.toThrow(
    /no HTTP\/1\.1: not a status line/,
  )
})

test('no answer in time rejects', async () => {
  await expect(rawRequest(await answering(), GET, { timeoutMs: 30 })).rejects.toThrow(
    /end of a response: not within 30 ms/,
  )
})
