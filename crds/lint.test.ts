import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type CustomResourceDefinition, customResourceDefinition } from './crd.ts'
import { convert, type Schema } from './json-schema.ts'
import { KIND_NAMES } from './kinds.ts'
import { lintCrd } from './lint.ts'
import { GATEWAY_IMMUTABLE } from './primitives.ts'

const GOOD: Schema = { description: 'd', type: 'string', maxLength: 5 }
const LIST: Schema = { description: 'd', type: 'array', maxItems: 3, 'x-kubernetes-list-type': 'atomic', items: GOOD }

function crdWith(field: object, spec: object = {}): CustomResourceDefinition {
  const crd = structuredClone(customResourceDefinition('LLMTenant'))
  crd.spec.versions[0]!.schema.openAPIV3Schema = {
    description: 'd',
    type: 'object',
    required: ['spec'],
    properties: {
      metadata: { type: 'object' },
      spec: {
        description: 'd',
        type: 'object',
        properties: { field: field as Schema },
        'x-kubernetes-validations': [GATEWAY_IMMUTABLE],
        ...spec,
      },
    },
  }
  return crd
}

test.each(KIND_NAMES)('%s has no faults', kind => {
  expect(lintCrd(customResourceDefinition(kind))).toEqual([])
})

test('a minimal schema has no faults', () => {
  expect(lintCrd(crdWith(GOOD))).toEqual([])
  expect(lintCrd(crdWith(LIST))).toEqual([])
})

describe('faults', () => {
  test.each([
    [
      { ...GOOD, additionalProperties: false },
      'spec.field: additionalProperties is not allowed in a structural schema',
    ],
    [{ ...GOOD, $ref: '#/x' }, 'spec.field: $ref is not allowed in a structural schema'],
    [{ ...GOOD, allOf: [{}] }, 'spec.field: allOf is not allowed in a structural schema'],
    [{ ...GOOD, examples: ['a'] }, 'spec.field: examples is not allowed in a structural schema'],
    [{ ...GOOD, anyOf: [] }, 'spec.field: anyOf is not allowed in a structural schema'],
    [{ description: 'd' }, 'spec.field: has no type'],
    [{ description: 'd', type: 'number' }, 'spec.field: type number is not used'],
    [{ ...GOOD, default: 'x' }, 'spec.field: has a default; defaults live in crds/defaults.ts'],
    [{ type: 'string', maxLength: 5 }, 'spec.field: has no description'],
    [{ ...LIST, items: { type: 'string', maxLength: 5 } }, 'spec.field[]: has no description'],
    [{ ...LIST, items: { ...GOOD, default: 'x' } }, 'spec.field[]: has a default; defaults live in crds/defaults.ts'],
    [{ description: 'd', type: 'string' }, 'spec.field: has no maxLength'],
    [{ ...LIST, maxItems: undefined }, 'spec.field: has no maxItems'],
    [{ ...LIST, 'x-kubernetes-list-type': undefined }, 'spec.field: has no x-kubernetes-list-type'],
    [{ ...LIST, 'x-kubernetes-list-type': 'map' }, 'spec.field: is a list map without keys'],
    [
      { ...LIST, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
      'spec.field: its key name is not required',
    ],
    [{ ...LIST, items: undefined }, 'spec.field: has no items'],
    [{ description: 'd', type: 'object' }, 'spec.field: has no properties'],
    [
      { description: 'd', type: 'object', properties: {}, required: ['x'] },
      'spec.field: requires x, which it does not have',
    ],
    [{ description: 'd', type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: 5 }, 'spec.field: has no minimum'],
    [{ description: 'd', type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'spec.field: has no maximum'],
    [{ ...GOOD, pattern: '^(?!a).*$' }, 'spec.field: its pattern has a look-around, a flag or a named group'],
    [{ ...GOOD, pattern: '^(a)\\1$' }, 'spec.field: its pattern has a back-reference'],
    [{ ...GOOD, pattern: '^\\S$' }, 'spec.field: its pattern has an escape that RE2 reads differently'],
    [{ ...GOOD, pattern: '^a{0,1001}$' }, 'spec.field: its pattern has more than 1000 repetitions'],
    [{ ...GOOD, pattern: 'a$' }, 'spec.field: its pattern is not anchored'],
    [
      { ...GOOD, 'x-kubernetes-validations': [{ rule: 'self == ""', message: '' }] },
      'spec.field: the rule self == "" needs a message of one line',
    ],
    [
      { ...GOOD, 'x-kubernetes-validations': [{ rule: 'self.namespace == ""', message: 'm' }] },
      'spec.field: the rule self.namespace == "" uses a reserved word of CEL; write it with __ on both sides',
    ],
  ])('%j', (field, fault) => {
    expect(lintCrd(crdWith(JSON.parse(JSON.stringify(field))))).toEqual([fault])
  })

  test('a spec that may move to another fleet', () => {
    expect(lintCrd(crdWith(GOOD, { 'x-kubernetes-validations': [] }))).toEqual([
      'spec: the rule that gateway cannot be changed is missing',
    ])
  })

  test('a spec that may be absent, and metadata of its own', () => {
    const crd = crdWith(GOOD)
    const schema = crd.spec.versions[0]!.schema.openAPIV3Schema
    schema.required = []
    schema.properties!.metadata = { type: 'object', description: 'd' }
    expect(lintCrd(crd)).toEqual(['metadata: must be a bare object', 'spec: must exist and be required'])
  })
})

describe('what JSON Schema would lose', () => {
  test('the flags of a pattern', () => {
    expect(() => convert(z.object({ a: z.string().regex(/^x$/i) }))).toThrow('.a: the pattern /^x$/i loses its flags')
  })

  test('a refinement, in a list too', () => {
    const schema = z.object({ a: z.array(z.string().refine(text => text !== 'x')).optional() })
    expect(() => convert(schema)).toThrow('.a[]: a refinement has no CEL twin; use withRules')
  })
})
