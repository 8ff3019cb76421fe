import { describe, expect, test } from 'vitest'
import type { KindName } from '../../crds/kinds.ts'
import { translate } from './translate.ts'
import type { Resource, TranslateOptions } from './types.ts'

const options: TranslateOptions = { gateway: 'weir', anonymousNamespaces: '*', anonymousFallback: false, now: 1_000 }

function resource(kind: KindName, name: string, spec: unknown, generation = 1): Resource {
  const metadata = { name, namespace: 'default', uid: `${kind}/${name}`, generation }
  return { apiVersion: 'weir.dev/v1alpha1', kind, metadata, spec }
}

const backendSpec = { provider: 'OpenAI', endpoint: { url: 'http://a' } }
const routeSpec = { match: { models: ['chat'] }, backends: [{ name: 'b' }] }

/** A spec that throws as soon as `field` is read. */
function hostile(field: string, spec: object, thrown: unknown = new Error('boo')): unknown {
  return Object.defineProperty({ ...spec }, field, {
    enumerable: true,
    get() {
      throw thrown
    },
  })
}

describe('an object that throws is its own fault alone', () => {
  test.each([
    ['ModelBackend', 'gateway', backendSpec],
    ['ModelBackend', 'endpoint', backendSpec],
    ['LLMRoute', 'backends', routeSpec],
    ['LLMTenant', 'apiKeys', {}],
    ['RateLimitPolicy', 'limits', {}],
  ] as const)('%s whose %s throws', (kind, field, spec) => {
    const objects = [
      resource('ModelBackend', 'b', backendSpec),
      resource('LLMRoute', 'r', routeSpec),
      resource(kind, 'hostile', hostile(field, spec)),
    ]
    const { content, verdicts } = translate({ objects, secrets: [] }, undefined, options)
    const alone = translate({ objects: objects.slice(0, 2), secrets: [] }, undefined, options)
    expect(content).toEqual(alone.content)
    expect(verdicts.filter(verdict => verdict.name !== 'hostile')).toEqual(alone.verdicts)
    expect(verdicts.find(verdict => verdict.name === 'hostile')?.conditions[0]).toEqual({
      type: 'Accepted',
      status: 'False',
      reason: 'Invalid',
      message: 'the object cannot be translated: boo. Nothing of this object is served.',
    })
  })

  test('what was published of it stays in service, keys included', () => {
    const secrets = [{ namespace: 'default', name: 's', labelled: true, data: { k: 'wk-1' } }]
    const good = [
      resource('ModelBackend', 'b', backendSpec),
      resource('LLMTenant', 't', { apiKeys: [{ name: 'k', secretRef: { name: 's', key: 'k' } }] }),
    ]
    const published = translate({ objects: good, secrets }, undefined, options).content
    const objects = [
      resource('ModelBackend', 'b', hostile('provider', backendSpec), 2),
      resource('LLMTenant', 't', hostile('apiKeys', {}), 2),
    ]
    const { content, verdicts } = translate({ objects, secrets }, published, options)
    expect(content).toEqual(published)
    expect(verdicts.map(verdict => verdict.servedGeneration)).toEqual([1, 1])
  })

  test('even if what it throws cannot be shown', () => {
    const thrown = Object.create(null)
    const objects = [resource('ModelBackend', 'b', hostile('provider', backendSpec, thrown))]
    const [verdict] = translate({ objects, secrets: [] }, undefined, options).verdicts
    expect(verdict?.problems[0]?.message).toBe('the object cannot be translated: it throws what cannot be shown')
  })
})

test('the resources and what is published are not changed', () => {
  const objects = [
    resource('ModelBackend', 'b', { ...backendSpec, headers: [{ name: 'a', value: 'b' }] }),
    resource('LLMRoute', 'r', routeSpec),
  ]
  const before = structuredClone(objects)
  const { content } = translate({ objects, secrets: [] }, undefined, options)
  const published = structuredClone(content)
  const invalid = objects.map(({ spec: _, ...rest }) => ({ ...rest, spec: {} }))
  translate({ objects: invalid, secrets: [] }, content, options)
  expect(objects).toEqual(before)
  expect(content).toEqual(published)
})

describe('many routes', () => {
  const backend = resource('ModelBackend', 'b', { ...backendSpec, allowedNamespaces: ['n0', 'n1'] })
  const many = (spec: (i: number) => object) => {
    const routes = Array.from({ length: 5_000 }, (_, i) => {
      const route = resource('LLMRoute', `r${i}`, spec(i))
      return { ...route, metadata: { ...route.metadata, namespace: `n${i % 50}` } }
    })
    const start = performance.now()
    const { content } = translate({ objects: [backend, ...routes], secrets: [] }, undefined, options)
    // Measured well under a second; the bound is for a loaded machine, and for what is no longer near linear.
    expect(performance.now() - start).toBeLessThan(5_000)
    return content.routes.length
  }

  test('with models of their own', () => {
    const spec = (i: number) => ({ ...routeSpec, match: { models: [`m${i}`, `team-${i}/*`] } })
    expect(many(spec)).toBe(5_000)
  })

  test('that all want the same model: one in each namespace', () => {
    expect(many(() => routeSpec)).toBe(50)
  })

  test('shared with every namespace', () => {
    const namespaces = Array.from({ length: 50 }, (_, i) => `n${i}`)
    const spec = (i: number) => ({ ...routeSpec, match: { models: [`m${i}`] }, access: { namespaces } })
    expect(many(spec)).toBe(5_000)
  })
})
