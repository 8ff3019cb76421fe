import { expect, test } from 'vitest'
import { CommandError } from './command.ts'
import { explainListenError, isLoopback } from './listen.ts'

const listeners = [
  { option: '--port', host: '127.0.0.1', port: 80 },
  { option: '--admin-port', host: '127.0.0.1', port: 9090 },
]

test.each([
  [{ code: 'EADDRINUSE', port: 9090 }, 'port 9090 on 127.0.0.1 is in use: end the program that listens there'],
  [{ code: 'EADDRINUSE', port: 9090 }, 'another port with --admin-port'],
  [{ code: 'EACCES', port: 80 }, 'port 80 on 127.0.0.1 may not be used: choose one above 1023 with --port'],
  [{ code: 'EADDRNOTAVAIL', port: 80 }, '127.0.0.1 is no address of this machine'],
  [{ code: 'ENOTFOUND' }, '127.0.0.1 is no address of this machine'],
])('%j', (fields, message) => {
  const error = explainListenError(Object.assign(new Error('listen'), fields), listeners)
  expect(error).toBeInstanceOf(CommandError)
  expect((error as Error).message).toContain(message)
})

test('another error stays what it is', () => {
  const error = new Error('something else')
  expect(explainListenError(error, listeners)).toBe(error)
})

test('hosts that only this machine reaches', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1', 'localhost'].every(isLoopback)).toBe(true)
  expect(['0.0.0.0', '::', '10.0.0.1', 'example.com', '128.0.0.1'].some(isLoopback)).toBe(false)
})
