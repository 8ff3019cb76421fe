import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { KubeClient } from '../../kube/http.ts'
import { LeaderElection } from '../../kube/leader-election.ts'
import { LEASES } from '../../kube/lease.ts'
import { type WantedCondition, writeStatus } from '../../kube/status.ts'
import { installCrds, resourceOf } from '../cluster/crds.ts'
import { describeWithCluster } from '../cluster/shared.ts'
import { eventually } from '../kit/patience.ts'

describeWithCluster('leader election', cluster => {
  let client: KubeClient
  let namespace: string

  beforeAll(() => {
    client = cluster().client()
  })
  afterAll(() => client.close())
  beforeEach(async () => {
    namespace = await cluster().createNamespace()
  })

  function elector(identity: string) {
    const events: string[] = []
    const election = new LeaderElection({
      client,
      namespace,
      name: 'weir-operator',
      identity,
      leaseSeconds: 2,
      renewSeconds: 1.5,
      retrySeconds: 0.3,
      onLeading: () => events.push('leading'),
      onLost: why => events.push(`lost: ${why}`),
    }).start()
    return { election, events }
  }

  const get = () => client.get(LEASES, { namespace, name: 'weir-operator' })

  test('one of two leads; given back, the other takes over at once', async () => {
    const a = elector('a')
    await eventually(async () => expect(a.election.leading).toBe(true))
    const b = elector('b')
    await new Promise(resolve => setTimeout(resolve, 2500))
    expect([a.election.leading, b.election.leading, b.election.holder]).toEqual([true, false, 'a'])
    // MicroTime: six digits, or the API server refuses it.
    expect((await get()).spec!.renewTime).toMatch(/\.\d{6}Z$/)
    await a.election.stop()
    await eventually(async () => expect(b.election.leading).toBe(true), { timeoutMs: 1500 })
    expect(a.events).toEqual(['leading'])
    await b.election.stop()
    expect((await get()).spec!.holderIdentity || '').toBe('')
  })

  test('a holder that is silent is succeeded after its time; one that is robbed says so', async () => {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name: 'weir-operator' },
      spec: { holderIdentity: 'dead', leaseDurationSeconds: 2, renewTime: '2020-01-01T00:00:00.000000Z' },
    }
    await client.create(LEASES, lease)
    const startedAt = performance.now()
    const a = elector('a')
    await eventually(async () => expect(a.election.leading).toBe(true), { timeoutMs: 6000 })
    // Its clock is not believed: the record must be seen unchanged for the whole duration.
    expect(performance.now() - startedAt).toBeGreaterThan(1800)
    const now = await get()
    await client.replace(LEASES, { ...now, spec: { ...now.spec, holderIdentity: 'thief' } })
    await eventually(async () => expect(a.events[1]).toMatch(/^lost: /), { timeoutMs: 3000 })
    expect(a.election.leading).toBe(false)
    await a.election.stop()
    expect((await get()).spec!.holderIdentity).toBe('thief')
  })
})

describeWithCluster('a status', cluster => {
  test('is written when it differs, and only then; the time moves with the status alone', async () => {
    const client = cluster().client()
    try {
      await installCrds(cluster())
      const namespace = await cluster().createNamespace()
      const resource = resourceOf('LLMTenant')
      const made = { apiVersion: 'weir.dev/v1alpha1', kind: 'LLMTenant', metadata: { namespace, name: 't' }, spec: {} }
      await client.create(resource, made)
      type Stored = typeof made & {
        status: { conditions: { type: string; lastTransitionTime: string; message: string }[] }
      }
      const read = async () => (await client.get(resource, { namespace, name: 't' })) as unknown as Stored
      const accepted = (message: string): WantedCondition => ({
        type: 'Accepted',
        status: 'True',
        reason: 'Accepted',
        message,
      })
      const write = async (message: string, now: Date) =>
        writeStatus({
          client,
          resource,
          object: await read(),
          status: { observedGeneration: 1, conditions: [accepted(message)] },
          fieldManager: 'weir-operator',
          ours: ['Accepted'],
          now,
        })
      const first = new Date('2026-01-01T00:00:00Z')
      expect(await write('one', first)).toBe(true)
      expect(await write('one', new Date())).toBe(false)
      expect(await write('two', new Date())).toBe(true)
      const condition = (await read()).status.conditions.find(({ type }) => type === 'Accepted')!
      expect(condition).toMatchObject({ message: 'two', lastTransitionTime: '2026-01-01T00:00:00Z' })
      // The defaults of the other conditions are still there, so that nothing takes the object for ready.
      expect((await read()).status.conditions.map(({ type }) => type)).toContain('Ready')
    } finally {
      await client.close()
    }
  })
})
