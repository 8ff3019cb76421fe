import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { rawClient } from './raw-client.ts'
import { blackhole, refusingUrl } from './unreachable.ts'

test('a refusing port refuses', async () => {
  await expect(rawClient(await refusingUrl())).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('a blackhole lets nobody connect, and can be closed', async () => {
  const hole = await blackhole()
  try {
    const outcome = await new Promise<string>(resolve => {
      const socket = connect(Number(new URL(hole.url).port), '127.0.0.1')
      socket.on('connect', () => resolve('connected'))
      socket.on('error', error => resolve(error.message))
      setTimeout(() => {
        socket.destroy()
        resolve('silent')
      }, 500)
    })
    expect(outcome).toBe('silent')
  } finally {
    await hole.close()
  }
})
