import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EVENTS, EventRecorder } from '../../kube/events.ts'
import { addFinalizer, removeFinalizer } from '../../kube/finalizer.ts'
import { KubeClient } from '../../kube/http.ts'
import { kubeconfigAccess, loadAccess } from '../../kube/kubeconfig.ts'
import { SECRETS, type Secret } from '../../kube/resource.ts'
import { createServiceAccount } from '../cluster/service-account.ts'
import { describeWithCluster } from '../cluster/shared.ts'
import { eventually } from '../kit/patience.ts'

describeWithCluster('the client', cluster => {
  let client: KubeClient
  let namespace: string

  beforeAll(() => {
    client = cluster().client()
  })
  afterAll(() => client.close())
  beforeEach(async () => {
    namespace = await cluster().createNamespace()
  })

  const secret = (name: string, more: object = {}): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name, ...more },
  })
  const at = (name: string) => ({ namespace, name })

  test('reads, writes, applies and deletes; refusals have status and reason', async () => {
    const made = await client.create(SECRETS, secret('s'))
    await expect(client.create(SECRETS, secret('s'))).rejects.toMatchObject({ status: 409, reason: 'AlreadyExists' })
    const stale = { ...made, metadata: { ...made.metadata, resourceVersion: '1' } }
    await expect(client.replace(SECRETS, stale)).rejects.toMatchObject({ status: 409, reason: 'Conflict' })
    const owned = { ...secret('s'), data: { v: 'eA==' } }
    expect((await client.apply<Secret>(SECRETS, owned, { fieldManager: 'one' })).data).toEqual({ v: 'eA==' })
    const other = { ...secret('s'), data: { v: 'eQ==' } }
    await expect(client.apply(SECRETS, other, { fieldManager: 'two' })).rejects.toMatchObject({ status: 409 })
    expect((await client.apply<Secret>(SECRETS, other, { fieldManager: 'two', force: true })).data).toEqual({
      v: 'eQ==',
    })
    await client.delete(SECRETS, at('s'))
    await expect(client.get(SECRETS, at('s'))).rejects.toMatchObject({ status: 404, reason: 'NotFound' })
  })

  test('a kubeconfig says who we are; one that cannot be used says why', async () => {
    const { kubeconfig } = await createServiceAccount(cluster(), namespace, 'reader', [
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['mine'] },
    ])
    await client.create(SECRETS, secret('mine'))
    const limited = new KubeClient(await loadAccess(undefined, { KUBECONFIG: kubeconfig }))
    const folder = await mkdtemp(join(tmpdir(), 'weir-kubeconfig-'))
    try {
      expect((await limited.get(SECRETS, at('mine'))).metadata.name).toBe('mine')
      await expect(limited.get(SECRETS, at('other'))).rejects.toMatchObject({ status: 403, reason: 'Forbidden' })
      const path = join(folder, 'config')
      await writeFile(path, 'apiVersion: v1\nkind: Config\ncurrent-context: gone\ncontexts: []\n')
      await expect(kubeconfigAccess([path])).rejects.toThrow(/gone/)
      await expect(kubeconfigAccess([join(folder, 'absent')])).rejects.toThrow(/absent/)
    } finally {
      await limited.close()
      await rm(folder, { recursive: true })
    }
  })

  test('a wrong token is a refusal, not a hang', async () => {
    const stranger = cluster().client({ token: 'wrong' })
    try {
      await expect(stranger.get(SECRETS, at('s'))).rejects.toMatchObject({ status: 401 })
    } finally {
      await stranger.close()
    }
  })

  test('a finalizer holds a deleted object until it is taken off; others are left alone', async () => {
    const made = await client.create(SECRETS, secret('s', { finalizers: ['example.com/other'] }))
    const held = await addFinalizer(client, SECRETS, made, 'weir.dev/drain')
    expect(held.metadata.finalizers).toEqual(['example.com/other', 'weir.dev/drain'])
    expect(await addFinalizer(client, SECRETS, held, 'weir.dev/drain')).toBe(held)
    await expect(addFinalizer(client, SECRETS, made, 'weir.dev/drain')).rejects.toMatchObject({ status: 409 })
    await client.delete(SECRETS, at('s'))
    const deleted = await client.get(SECRETS, at('s'))
    expect(deleted.metadata.deletionTimestamp).toBeDefined()
    const left = await removeFinalizer(client, SECRETS, deleted, 'weir.dev/drain')
    await removeFinalizer(client, SECRETS, left, 'example.com/other')
    await expect(client.get(SECRETS, at('s'))).rejects.toMatchObject({ status: 404 })
  })

  test('an event is written once and counted after that; the rate is bounded; nothing throws', async () => {
    const regarding = await client.create(SECRETS, secret('s'))
    const recorder = new EventRecorder({
      client,
      controller: 'weir.dev/operator',
      instance: 'test',
      writes: { perSecond: 0.001, burst: 3 },
    })
    const note = { regarding, type: 'Warning', action: 'Translate', note: 'a secret is missing' } as const
    for (let i = 0; i < 5; i++) recorder.record({ ...note, reason: 'SecretNotFound' })
    for (let i = 0; i < 5; i++) recorder.record({ ...note, reason: `Other${i}` })
    await eventually(async () => expect(recorder.dropped).toBe(3))
    await recorder.close()
    const { items } = await client.list(EVENTS, { namespace })
    expect(items.map(({ reason }) => reason).sort()).toEqual(['Other0', 'Other1', 'SecretNotFound'])
    expect(items[0]).toMatchObject({ type: 'Warning', note: 'a secret is missing', action: 'Translate' })
  })
})
