import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { KubeClient } from '../../kube/http.ts'
import { Reflector } from '../../kube/reflector.ts'
import { SECRETS, type Secret } from '../../kube/resource.ts'
import { freePort } from '../cluster/ports.ts'
import { createServiceAccount } from '../cluster/service-account.ts'
import { describeWithCluster } from '../cluster/shared.ts'
import { ApiFront, refusal } from '../fakes/api-front.ts'
import { TcpProxy } from '../fakes/tcp-proxy.ts'
import { eventually } from '../kit/patience.ts'

/** What a fault may cost in these tests: recovery within 2 s. */
const TIMING = { watchSeconds: 30, silenceMarginMs: 500, restartMs: 100, backoff: { baseMs: 50, maxMs: 300 } }

describeWithCluster('a reflector', cluster => {
  let admin: KubeClient
  let namespace: string

  beforeAll(() => {
    admin = cluster().client()
  })
  afterAll(() => admin.close())
  beforeEach(async () => {
    namespace = await cluster().createNamespace()
  })

  const secret = (name: string, value = 'x'): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name },
    data: { v: Buffer.from(value).toString('base64') },
  })
  const put = (name: string, value?: string) => admin.create(SECRETS, secret(name, value))
  const remove = (name: string) => admin.delete(SECRETS, { namespace, name })
  const edit = (name: string, value: string) =>
    admin.mergePatch(SECRETS, { namespace, name }, { data: { v: Buffer.from(value).toString('base64') } })

  const cached = (reflector: Reflector<Secret>) =>
    [...reflector.values()]
      .map(({ metadata, data }) => `${metadata.name}=${data?.v}@${metadata.resourceVersion}`)
      .sort()

  async function onServer(): Promise<string[]> {
    const { items } = await admin.list(SECRETS, { namespace })
    return items.map(({ metadata, data }) => `${metadata.name}=${data?.v}@${metadata.resourceVersion}`).sort()
  }

  const sameAsServer = (reflector: Reflector<Secret>) =>
    eventually(async () => expect(cached(reflector)).toEqual(await onServer()), { timeoutMs: 2000 })

  const reflect = (client: KubeClient, more = {}) =>
    new Reflector<Secret>({ client, resource: SECRETS, namespace, timing: TIMING, pageSize: 2, ...more }).start()

  /** Changes of every kind, one of them a deletion that must not leave a ghost. */
  async function churn(): Promise<void> {
    await edit('a', `edited-${Math.random()}`)
    await remove('b')
    await put(`n-${Math.random().toString(36).slice(2)}`)
    await put('b')
    await remove('b')
    await put('b', 'again')
  }

  beforeEach(async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await put(name)
  })

  test('lists page by page, then follows; objects are frozen; a handler that throws stops nothing', async () => {
    const seen: string[] = []
    const reports: unknown[] = []
    const reflector = reflect(admin, {
      onChange: ({ type, object }: { type: string; object: Secret }) => {
        seen.push(`${type} ${object.metadata.name}`)
        throw new Error('handler')
      },
      report: (error: unknown) => reports.push(error),
    })
    try {
      await reflector.synced
      expect(reflector.size).toBe(5)
      await churn()
      await sameAsServer(reflector)
      expect(seen.length).toBeGreaterThan(5)
      expect(Object.isFrozen(reflector.get({ namespace, name: 'a' })!.metadata)).toBe(true)
      expect(reports.length).toBeGreaterThan(0)
      expect(reflector.counts).toMatchObject({ lists: 1 })
      expect(reflector.secondsSinceContact()).toBeLessThan(10)
    } finally {
      await reflector.close()
    }
  })

  describe('through connections that fail', () => {
    let proxy: TcpProxy
    let client: KubeClient
    let reflector: Reflector<Secret>

    beforeEach(async () => {
      const { hostname, port } = new URL(cluster().url)
      proxy = await TcpProxy.start({ host: hostname, port: Number(port) }, await freePort('127.0.0.1'))
      client = cluster().client({ url: `https://127.0.0.1:${proxy.port}` }, { timeoutMs: 2000 })
      reflector = reflect(client, { timing: { ...TIMING, watchSeconds: 1 } })
      await reflector.synced
    })
    afterEach(async () => {
      await reflector.close()
      await client.close()
      await proxy.close()
    })

    test('a cut connection is resumed without another list', async () => {
      for (let i = 0; i < 3; i++) {
        proxy.cut()
        await churn()
        await sameAsServer(reflector)
      }
      expect(reflector.counts.lists).toBe(1)
    })

    test('one that is silently dead is noticed and replaced', async () => {
      const before = proxy.accepted
      proxy.stall()
      await churn()
      await eventually(async () => expect(proxy.accepted).toBeGreaterThan(before), { timeoutMs: 6000 })
      proxy.cut()
      proxy.resume()
      await sameAsServer(reflector)
    })

    test('a half-closed one is replaced', async () => {
      proxy.halfClose()
      await churn()
      await sameAsServer(reflector)
    })

    test('a server that refuses connections is tried until it accepts', async () => {
      await proxy.refuse()
      proxy.cut()
      await churn()
      await new Promise(resolve => setTimeout(resolve, 500))
      await proxy.accept()
      await sameAsServer(reflector)
      expect(reflector.counts.failures).toBeGreaterThan(0)
    })
  })

  describe('through answers that are refusals', () => {
    let front: ApiFront
    let client: KubeClient
    let reflector: Reflector<Secret>

    beforeEach(async () => {
      front = await ApiFront.start(cluster().url, readFileSync(cluster().caFile))
      client = cluster().client({ url: front.url })
    })
    afterEach(async () => {
      await reflector.close()
      await client.close()
      await front.close()
    })

    async function synced(): Promise<void> {
      reflector = reflect(client)
      await reflector.synced
    }

    test.each([
      ['410 on a watch', 410, 'Expired', 2],
      ['429 on a watch', 429, 'TooManyRequests', 1],
      ['500 on a watch', 500, 'InternalError', 1],
    ])('%s', async (_, status, reason, lists) => {
      await synced()
      front.script(/watch=true/, { status, lines: [refusal(status, reason)] }, 2)
      front.endWatches()
      await churn()
      await sameAsServer(reflector)
      expect(reflector.counts.lists).toBeGreaterThanOrEqual(lists)
    })

    test('500 and 429 on the first lists', async () => {
      front.script(/GET .*secrets\?.*limit/, { status: 500, lines: [refusal(500, 'InternalError')] }, 2)
      front.script(/GET .*secrets\?.*limit/, { status: 429, lines: [refusal(429, 'TooManyRequests')] }, 1)
      await synced()
      await sameAsServer(reflector)
    })

    test.each([
      ['410 within the stream', 410, 'Expired'],
      ['500 within the stream', 500, 'InternalError'],
    ])('%s', async (_, code, reason) => {
      await synced()
      await eventually(async () => expect(front.watches).toBe(1))
      front.inject({ type: 'ERROR', object: refusal(code, reason) })
      await churn()
      await sameAsServer(reflector)
    })

    test('a line that is no JSON', async () => {
      await synced()
      await eventually(async () => expect(front.watches).toBe(1))
      front.inject('{"type":"MODIF', { end: true })
      await churn()
      await sameAsServer(reflector)
    })
  })

  test('what is limited by resourceNames can be followed by name, and nothing else', async () => {
    const { token } = await createServiceAccount(cluster(), namespace, 'reader', [
      { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames: ['a'] },
    ])
    const client = cluster().client({ token })
    const reflector = reflect(client, { fieldSelector: 'metadata.name=a' })
    const refused: unknown[] = []
    const all = reflect(client, { report: (error: unknown) => refused.push(error) })
    try {
      await reflector.synced
      await edit('a', 'seen')
      await eventually(async () => expect(cached(reflector)[0]).toContain(Buffer.from('seen').toString('base64')))
      expect(reflector.size).toBe(1)
      await eventually(async () => expect(refused[0]).toMatchObject({ status: 403 }))
    } finally {
      await Promise.all([reflector.close(), all.close()])
      await client.close()
    }
  })

  test('five hundred lives leave nothing behind', async () => {
    const client = cluster().client()
    const turn = async () => {
      const reflector = reflect(client)
      await reflector.synced
      await reflector.close()
    }
    try {
      for (let i = 0; i < 20; i++) await turn()
      const before = process.getActiveResourcesInfo().length
      for (let i = 0; i < 500; i++) await turn()
      await eventually(async () => expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before + 3))
    } finally {
      await client.close()
    }
  }, 60_000)
})
