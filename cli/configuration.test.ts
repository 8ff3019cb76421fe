import { beforeEach, expect, test } from 'vitest'
import type { Snapshot } from '../dataplane/config/snapshot.ts'
import type { LoadedFiles } from '../operator/files/source.ts'
import { Configuration } from './configuration.ts'
import { starter } from './starter.ts'

const loaded = starter('http://127.0.0.1:1', {}).loaded
let applied: Snapshot[]
let refuse: string | undefined

beforeEach(() => {
  applied = []
  refuse = undefined
})

const start = (files = loaded) =>
  new Configuration(files, snapshot => {
    if (refuse) throw new Error(refuse)
    applied.push(snapshot)
  })
const reversed = { ...loaded, resources: { ...loaded.resources, objects: loaded.resources.objects.toReversed() } }
const without = (kind: string): LoadedFiles => ({
  ...loaded,
  resources: { ...loaded.resources, objects: loaded.resources.objects.filter(object => object.kind !== kind) },
  objects: new Map([...loaded.objects].filter(([, object]) => object.kind !== kind)),
})

test('what has not changed is not applied again', () => {
  const configuration = start()
  expect(configuration.update().applied).toBe(1)
  expect(configuration.update().applied).toBeUndefined()
  expect(configuration.update(reversed).applied).toBeUndefined()
  expect(configuration.update(without('LLMRoute')).applied).toBe(2)
  expect(applied.map(snapshot => [snapshot.epoch, snapshot.generation])).toEqual([
    [configuration.epoch, 1],
    [configuration.epoch, 2],
  ])
  expect(start().epoch).not.toBe(configuration.epoch)
})

test('a configuration that the gateway refuses is not taken for applied', () => {
  const configuration = start()
  configuration.update()
  refuse = 'too large'
  expect(configuration.update(without('LLMRoute'))).toMatchObject({ refused: 'too large' })
  expect(configuration.generation).toBe(1)
  expect(configuration.content.routes).toHaveLength(1)
  refuse = undefined
  expect(configuration.update(without('LLMRoute')).applied).toBe(2)
})

test('everyone is served without a tenant, until there has been one', () => {
  const configuration = start(without('LLMTenant'))
  configuration.update()
  expect(configuration.content.tenants).toMatchObject([{ anonymous: true, allNamespaces: true }])
  configuration.update(loaded)
  expect(configuration.content.tenants).toMatchObject([{ anonymous: true, allNamespaces: false }])
  configuration.update(without('LLMTenant'))
  expect(configuration.content.tenants).toEqual([])
})

test('a drain by hand ends with the object', () => {
  const configuration = start()
  configuration.update()
  const draining = () => configuration.content.backends.filter(backend => backend.draining).map(backend => backend.name)
  const { uid } = configuration.backend('default', 'demo-openai')!.metadata
  expect(configuration.drain(uid, 'by hand').applied).toBe(2)
  expect(draining()).toEqual(['demo-openai'])
  configuration.update(without('LLMRoute'))
  expect(draining()).toEqual(['demo-openai'])
  configuration.update(without('ModelBackend'))
  configuration.update(loaded)
  expect(draining()).toEqual([])
})
