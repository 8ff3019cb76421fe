import type { Schema } from './json-schema.ts'

/** Conditions that every new object has at once, so that kstatus, Flux, Argo CD and Helm wait for the operator. */
const PENDING = ['Ready', 'Accepted', 'ResolvedRefs', 'Programmed'].map(type => ({
  type,
  status: 'Unknown',
  reason: 'Pending',
  message: 'Waiting for the operator',
  lastTransitionTime: '1970-01-01T00:00:00Z',
}))

const condition: Schema = {
  description: 'One observation of the state of the object.',
  type: 'object',
  required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
  properties: {
    type: {
      description: 'Type of the condition.',
      type: 'string',
      maxLength: 316,
      pattern:
        '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
    },
    status: { description: 'Whether the condition holds.', type: 'string', enum: ['True', 'False', 'Unknown'] },
    observedGeneration: {
      description: 'Generation of the object that the condition is about.',
      type: 'integer',
      format: 'int64',
      minimum: 0,
    },
    reason: {
      description: 'Why, in one word for programs.',
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    },
    message: { description: 'Why, and what to do next, for people.', type: 'string', maxLength: 32768 },
    lastTransitionTime: {
      description: 'When the status of the condition last changed.',
      type: 'string',
      format: 'date-time',
    },
  },
}

/**
 * Schema of every kind's status. The defaults stand twice: the outer one applies while there is no status at all, the
 * inner one once something else has been written to it.
 */
export const STATUS_SCHEMA: Schema = {
  description: 'What the operator has found and done.',
  type: 'object',
  default: { conditions: PENDING },
  properties: {
    observedGeneration: {
      description: 'Generation of the object that the status is about.',
      type: 'integer',
      format: 'int64',
      minimum: 0,
    },
    conditions: {
      description: 'Ready sums up the others: Accepted, ResolvedRefs and Programmed.',
      type: 'array',
      default: PENDING,
      maxItems: 16,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: condition,
    },
  },
}
