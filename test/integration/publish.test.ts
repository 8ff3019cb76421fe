import { afterAll, beforeAll, expect, test } from 'vitest'
import { configSecretNames, emptyContent, indexName } from '../../dataplane/config/manifest.ts'
import type { KubeClient } from '../../kube/http.ts'
import { SECRETS } from '../../kube/resource.ts'
import { KubeSecretStore } from '../../operator/publish/kube-secret-store.ts'
import { Publisher } from '../../operator/publish/publisher.ts'
import { Conflict } from '../../operator/publish/secret-store.ts'
import { createServiceAccount } from '../cluster/service-account.ts'
import { describeWithCluster } from '../cluster/shared.ts'

const tenant = (name: string, generation = 1) => ({
  uid: `uid-${name}`,
  namespace: 'apps',
  name,
  generation,
  requires: [],
  keys: [],
  anonymous: false,
  allNamespaces: false,
})

describeWithCluster('publishing to a real API server', cluster => {
  let client: KubeClient
  let namespace: string

  beforeAll(async () => {
    client = cluster().client()
    namespace = await cluster().createNamespace()
  })

  afterAll(() => client.close())

  const publisher = () => new Publisher(new KubeSecretStore(client, namespace, 'weir'), 'weir')

  test('what is published is read back, over a restart, and by whoever may read only the fleet’s names', async () => {
    const first = publisher()
    expect(await first.load()).toBeNull()
    const tenants = Array.from({ length: 100 }, (_, i) => tenant(`t${i}`))
    expect(await first.publish({ ...emptyContent(), tenants })).toMatchObject({ generation: 1 })
    tenants[3] = tenant('t3', 2)
    expect(await first.publish({ ...emptyContent(), tenants })).toMatchObject({ generation: 2, written: 1 })

    const rules = [
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: configSecretNames('weir') },
    ]
    const { token } = await createServiceAccount(cluster(), namespace, 'gateway', rules)
    const limited = cluster().client({ token })
    try {
      const snapshot = await new Publisher(new KubeSecretStore(limited, namespace, 'weir'), 'weir').load()
      expect(snapshot!.tenants.find(({ name }) => name === 't3')!.generation).toBe(2)
      expect(snapshot!.tenants).toHaveLength(100)
      await expect(limited.get(SECRETS, { namespace, name: 'other' })).rejects.toMatchObject({ status: 403 })
    } finally {
      await limited.close()
    }
  })

  test('of two writers one is told of the other; a deleted index begins a new epoch', async () => {
    const [one, two] = [publisher(), publisher()]
    const before = await one.load()
    await two.load()
    await one.publish(emptyContent())
    await expect(two.publish(emptyContent())).rejects.toThrow(Conflict)
    await two.load()
    expect((await two.publish(emptyContent())).generation).toBe(before!.generation + 2)

    await client.delete(SECRETS, { namespace, name: indexName('weir') })
    await expect(two.publish(emptyContent())).rejects.toThrow(Conflict)
    expect(await two.load()).toBeNull()
    const reborn = await two.publish(emptyContent())
    expect(reborn.generation).toBe(1)
    expect(reborn.epoch).not.toBe(before!.epoch)
  })
})
