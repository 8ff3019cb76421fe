import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { KINDS } from '../../crds/kinds.ts'
import { backendYaml, policyYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from './resources.ts'

const parsed = (yaml: string) => parseAllDocuments(yaml).map(document => document.toJS())

test('documents in one file, as short as they can be', () => {
  const file = yamlFile(
    backendYaml({ name: 'a', url: 'http://127.0.0.1:1/v1', secret: 's', queue: { depth: 1 } }),
    routeYaml({ name: 'r', namespace: 'n', backends: ['a', { name: 'b', priority: 1 }], maxWait: '1s' }),
    secretYaml({ name: 's', value: 'sk-1' }),
  )
  expect(parsed(file)).toEqual([
    {
      apiVersion: 'weir.dev/v1alpha1',
      kind: 'ModelBackend',
      metadata: { name: 'a' },
      spec: {
        provider: 'OpenAI',
        endpoint: { url: 'http://127.0.0.1:1/v1' },
        credentials: [{ name: 'primary', type: 'APIKey', apiKey: { secretRef: { name: 's', key: 'key' } } }],
        queue: { depth: 1 },
      },
    },
    {
      apiVersion: 'weir.dev/v1alpha1',
      kind: 'LLMRoute',
      metadata: { name: 'r', namespace: 'n' },
      spec: { match: { models: ['*'] }, backends: [{ name: 'a' }, { name: 'b', priority: 1 }], maxWait: '1s' },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { key: 'sk-1' } },
  ])
})

test.each([
  backendYaml({ name: 'a', url: 'http://127.0.0.1:1' }),
  routeYaml({ name: 'r', backends: ['a'] }),
  tenantYaml({ name: 't', secrets: ['k1', 'k2'] }),
  tenantYaml({ name: 't', anonymous: true }),
  policyYaml({
    name: 'p',
    targetRefs: [{ kind: 'LLMRoute', name: 'r' }],
    limits: [{ name: 'rpm', requests: 1, per: '1m' }],
  }),
])('%s satisfies its schema', yaml => {
  const [{ kind, spec }] = parsed(yaml)
  expect(KINDS[kind as keyof typeof KINDS].spec.safeParse(spec)).toMatchObject({ success: true })
})
