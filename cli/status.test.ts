import { expect, test } from 'vitest'
import { coloursFor } from './colour.ts'
import { renderStatus } from './status.ts'

const condition = (type: string, status: string, reason: string, message: string) => ({ type, status, reason, message })

test('status as tables', () => {
  const text = renderStatus(
    {
      ready: true,
      config: { epoch: 'e', generation: 4 },
      load: { inFlight: 1, queued: 2, saturated: true },
      backends: [
        {
          namespace: 'default',
          name: 'openai',
          uid: 'u1',
          state: 'Serving',
          references: { 'gpt-4o': 1, 'gpt-4o-mini': 2, old: 0 },
          oldestSeconds: 75,
          queued: 2,
          inFlight: 1,
          slots: 256,
        },
        {
          namespace: 'apps',
          name: 'vllm',
          uid: 'u2',
          state: 'Draining',
          references: {},
          queued: 0,
          inFlight: 0,
          slots: 8,
        },
      ],
      resources: [
        {
          kind: 'LLMRoute',
          namespace: 'default',
          name: 'chat',
          generation: 1,
          conditions: [condition('Ready', 'True', 'Ready', 'fine')],
        },
        {
          kind: 'LLMRoute',
          namespace: 'default',
          name: 'half',
          generation: 1,
          conditions: [
            condition('Ready', 'True', 'Ready', 'fine'),
            condition('PartiallyInvalid', 'True', 'Conflicted', 'chat has x'),
          ],
        },
        {
          kind: 'LLMTenant',
          namespace: 'default',
          name: 'a',
          generation: 12,
          conditions: [condition('Ready', 'False', 'SecretNotFound', 'no Secret a')],
        },
      ],
    },
    coloursFor({}),
  )
  expect(text.split('\n')).toEqual([
    'generation 4, ready, 1 request in flight, 2 queued, saturated',
    '',
    'BACKEND         STATE     IN FLIGHT  QUEUED  SLOTS  REFERENCES               OLDEST',
    'default/openai  Serving   1          2       256    gpt-4o 1, gpt-4o-mini 2  1m 15s',
    'apps/vllm       Draining  0          0       8      -                        -',
    '',
    'KIND       NAME          GENERATION  READY  REASON          MESSAGE',
    'LLMRoute   default/chat  1           True   Ready',
    'LLMRoute   default/half  1           True   Conflicted      chat has x',
    'LLMTenant  default/a     12          False  SecretNotFound  no Secret a',
  ])
})
