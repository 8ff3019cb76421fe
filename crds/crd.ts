import { GROUP, VERSION } from './group.ts'
import { forCrd, type Schema, specSchema } from './json-schema.ts'
import { KINDS, type Kind, type KindName } from './kinds.ts'
import { GATEWAY_IMMUTABLE } from './primitives.ts'
import { STATUS_SCHEMA } from './status.ts'

/** The part of a CustomResourceDefinition that we write. */
export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1'
  kind: 'CustomResourceDefinition'
  metadata: { name: string }
  spec: {
    group: string
    scope: 'Namespaced'
    names: {
      kind: string
      listKind: string
      plural: string
      singular: string
      shortNames: string[]
      categories: string[]
    }
    versions: {
      name: string
      served: true
      storage: true
      subresources: { status: Record<string, never> }
      additionalPrinterColumns: { name: string; type: string; jsonPath: string; description?: string }[]
      schema: { openAPIV3Schema: Schema }
    }[]
  }
}

/** The CustomResourceDefinition of a kind, from its zod schema. */
export function customResourceDefinition(name: KindName): CustomResourceDefinition {
  const kind: Kind = KINDS[name]
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind: name,
        listKind: `${name}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [kind.shortName],
        categories: ['weir'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            ...kind.columns,
            { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
            { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          schema: { openAPIV3Schema: forCrd(objectSchema(name, kind.description)) },
        },
      ],
    },
  }
}

function objectSchema(name: KindName, description: string): Schema {
  const spec = specSchema(name)
  return {
    description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { description: `Always ${GROUP}/${VERSION}.`, type: 'string' },
      kind: { description: `Always ${name}.`, type: 'string' },
      metadata: { type: 'object' },
      spec: {
        ...spec,
        description: 'What is wanted.',
        'x-kubernetes-validations': [...(spec['x-kubernetes-validations'] ?? []), GATEWAY_IMMUTABLE],
      },
      status: STATUS_SCHEMA,
    },
  }
}
