import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { validateObject } from '../crds/validate.ts'
import { newKey, tenantYaml } from './keys.ts'

test('a key has 256 random bits and can stand in a header', () => {
  const keys = Array.from({ length: 100 }, newKey)
  for (const key of keys) expect(key).toMatch(/^weir_[A-Za-z0-9_-]{43}$/)
  expect(new Set(keys).size).toBe(100)
})

test('the YAML is a labelled Secret and a valid tenant that refers to it', () => {
  const text = tenantYaml({ key: 'weir_x', name: 'k1', tenant: 'team-a', namespace: 'apps' })
  const [secret, tenant] = parseAllDocuments(text).map(document => document.toJS())
  expect(secret).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'team-a-k1', namespace: 'apps', labels: { 'weir.dev/credentials': 'true' } },
    stringData: { token: 'weir_x' },
  })
  expect(validateObject(tenant).problems).toEqual([])
  expect(tenant.spec.apiKeys).toEqual([{ name: 'k1', secretRef: { name: 'team-a-k1', key: 'token' } }])
  expect(tenant.metadata).toEqual({ name: 'team-a', namespace: 'apps' })
})

test('without a namespace none is written', () => {
  expect(tenantYaml({ key: 'weir_x', name: 'k1', tenant: 't', namespace: undefined })).not.toContain('namespace')
})
