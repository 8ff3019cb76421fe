import { expect, test } from 'vitest'
import { eventually, within } from './patience.ts'

test('within gives the value, or names what it waited for', async () => {
  expect(await within(Promise.resolve(1), 1_000, 'one')).toBe(1)
  await expect(within(new Promise(() => {}), 10, 'the moon')).rejects.toThrow('the moon: not within 10 ms')
  await expect(within(Promise.reject(new Error('own')), 1_000, 'one')).rejects.toThrow('own')
})

test('eventually tries until nothing is wrong', async () => {
  let calls = 0
  const result = await eventually(async () => {
    calls++
    if (calls === 1) throw new Error('not yet')
    return calls > 2 && 'there'
  })
  expect([result, calls]).toEqual(['there', 3])
})

test('eventually accepts undefined, as from an assertion', async () => {
  expect(await eventually(() => undefined)).toBeUndefined()
})

test('eventually gives up with the last reason', async () => {
  const failing = eventually(() => Promise.reject(new Error('still closed')), { timeoutMs: 30 })
  await expect(failing).rejects.toThrow('not within 30 ms: still closed')
  await expect(eventually(() => false, { timeoutMs: 0 })).rejects.toThrow('still false')
})
