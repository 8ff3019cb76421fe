import { expect, test } from 'vitest'
import type { GatewayStatus } from '../../dataplane/gateway.ts'
import { countsOf, quietStatus } from './quiet.ts'

const quiet: GatewayStatus = {
  pod: { name: 'a', uid: 'a' },
  bootId: 'b',
  ready: true,
  config: { epoch: 'e', generation: 1, schema: { major: 1, minor: 0 } },
  refused: [],
  backends: [
    {
      namespace: 'default',
      name: 'x',
      uid: 'u',
      state: 'Serving',
      references: { m: 0 },
      oldestSeconds: 0,
      queued: 0,
      inFlight: 0,
      slots: 5,
    },
  ],
  load: { inFlight: 0, queued: 0, bodyBytes: 0, saturated: false },
}
const backend = quiet.backends[0]!

test('every count is looked at, and slots are no count', () => {
  expect(countsOf(quiet)).toEqual([])
  expect(countsOf({ ...quiet, load: { inFlight: 1, queued: 2, bodyBytes: 3, saturated: true } })).toEqual([
    'load.inFlight 1',
    'load.queued 2',
    'load.bodyBytes 3',
  ])
  expect(
    countsOf({
      ...quiet,
      backends: [backend, { ...backend, name: 'y', references: { m: 4 }, queued: 5, inFlight: -6 }],
    }),
  ).toEqual(['default/y queued 5', 'default/y inFlight -6', 'default/y references of m 4'])
})

test('waits for quiet, and names what is not', async () => {
  let looks = 0
  const busy = { ...quiet, load: { ...quiet.load, queued: 1 } }
  expect(await quietStatus({ status: async () => (++looks < 3 ? busy : quiet) })).toBe(quiet)
  await expect(quietStatus({ status: async () => busy }, { timeoutMs: 20 })).rejects.toThrow(
    'still counted: load.queued 1',
  )
})
