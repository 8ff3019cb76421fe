import fc from 'fast-check'
import type { KindName } from '../../crds/kinds.ts'
import type { Resource, Resources, Secret, TranslateOptions } from './types.ts'

/** Few names, so that objects meet: in references, in conflicts, in keys. */
const NAMESPACES = ['apps', 'web']
const NAMES = ['a', 'b', 'c']

const namespace = fc.constantFrom(...NAMESPACES)
const name = fc.constantFrom(...NAMES)
const secretRef = fc.record({ name, key: fc.constantFrom('k', 'l') })

/** About one in eight is no valid spec. */
function sometimesInvalid(spec: fc.Arbitrary<object>): fc.Arbitrary<unknown> {
  const broken = spec.map(value => ({ ...value, surprise: true }))
  return fc.oneof({ weight: 7, arbitrary: spec }, { weight: 1, arbitrary: fc.oneof(broken, fc.constant(null)) })
}

const SPECS: Record<KindName, fc.Arbitrary<unknown>> = {
  ModelBackend: sometimesInvalid(
    fc.record(
      {
        provider: fc.constantFrom('OpenAI', 'Anthropic'),
        endpoint: fc.constant({ url: 'http://upstream' }),
        credentials: fc.uniqueArray(
          fc.record({ name, type: fc.constant('APIKey'), apiKey: fc.record({ secretRef }) }),
          { selector: credential => credential.name, maxLength: 2 },
        ),
        allowedNamespaces: fc.subarray(NAMESPACES),
      },
      { requiredKeys: ['provider', 'endpoint'] },
    ),
  ),
  LLMRoute: sometimesInvalid(
    fc.record(
      {
        match: fc.record(
          {
            models: fc.subarray(['*', 'gpt-*', 'gpt-4*', 'gpt-4', '*-mini', 'gpt-4-mini'], { minLength: 1 }),
            headers: fc.subarray([
              { name: 'x-tier', value: 'gold' },
              { name: 'X-App', value: 'web' },
            ]),
          },
          { requiredKeys: ['models'] },
        ),
        access: fc.record(
          { namespaces: fc.subarray(NAMESPACES), tenants: fc.subarray(NAMES, { minLength: 1 }) },
          { requiredKeys: [] },
        ),
        backends: fc.tuple(fc.record({ name, namespace }, { requiredKeys: ['name'] })),
      },
      { requiredKeys: ['match', 'backends'] },
    ),
  ),
  RateLimitPolicy: sometimesInvalid(
    fc.record({
      targetRefs: fc.tuple(fc.record({ kind: fc.constantFrom('LLMRoute', 'ModelBackend', 'LLMTenant'), name })),
      limits: fc.constant([{ name: 'rpm', requests: 10, per: '1m' }]),
    }),
  ),
  LLMTenant: sometimesInvalid(
    fc.record(
      {
        apiKeys: fc.uniqueArray(fc.record({ name, secretRef }), { selector: key => key.name, maxLength: 2 }),
        anonymous: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  ),
}

const object: fc.Arbitrary<Resource> = fc
  .constantFrom<KindName>('ModelBackend', 'LLMRoute', 'LLMRoute', 'RateLimitPolicy', 'LLMTenant')
  .chain(kind =>
    fc.record({
      apiVersion: fc.constant('weir.dev/v1alpha1'),
      kind: fc.constant(kind),
      metadata: fc
        .record({
          namespace,
          name,
          generation: fc.integer({ min: 1, max: 3 }),
          creationTimestamp: fc.constantFrom(undefined, '2025-01-01T00:00:00Z', '2025-02-01T00:00:00Z'),
          annotations: fc.constantFrom(undefined, { 'weir.dev/drain': 'x' }),
        })
        .map(({ creationTimestamp, annotations, ...rest }) => ({
          ...rest,
          uid: `${kind}/${rest.namespace}/${rest.name}`,
          ...(creationTimestamp && { creationTimestamp }),
          ...(annotations && { annotations }),
        })),
      spec: SPECS[kind],
    }),
  )

const secret: fc.Arbitrary<Secret> = fc.record({
  namespace,
  name,
  labelled: fc.boolean(),
  data: fc.record({ k: fc.constantFrom('v1', 'v2', ''), l: fc.constantFrom('v1', 'v3') }, { requiredKeys: [] }),
})

export const resources: fc.Arbitrary<Resources> = fc.record({
  objects: fc.uniqueArray(object, { selector: ({ metadata }) => metadata.uid, maxLength: 16 }),
  secrets: fc.uniqueArray(secret, { selector: ({ namespace, name }) => `${namespace}/${name}`, maxLength: 6 }),
})

export const options: fc.Arbitrary<TranslateOptions> = fc.record({
  gateway: fc.constant('weir'),
  anonymousNamespaces: fc.oneof(fc.constant('*' as const), fc.subarray(NAMESPACES)),
  anonymousFallback: fc.boolean(),
  now: fc.integer({ min: 0, max: 1_000_000 }),
})
