import {
  duration,
  GATEWAY,
  group,
  headers,
  integer,
  label,
  labels,
  objectName,
  required,
  type Table,
} from './families.ts'

export const llmRouteTable: Table = {
  full: {
    gateway: 'weir',
    match: { models: ['gpt-4o-mini', 'team-x/*'], headers: [{ name: 'x-tier', value: 'gold' }] },
    access: { tenants: ['team-a'], namespaces: ['apps'] },
    backends: [{ name: 'azure', namespace: 'models', priority: 0, weight: 90, model: 'gpt-4o-prod' }, { name: 'vllm' }],
    retry: { attempts: 3, failures: ['Connect'], codes: [429], backoff: { base: '50ms', max: '2s' } },
    timeout: '10m',
    maxWait: '2s',
  },
  cases: [
    GATEWAY,
    required('match'),
    [
      'match.models',
      [['*'], ['a', 'A'], ['team/x:latest']],
      [
        [undefined, 'Required'],
        [[], 'InvalidValue'],
        ['gpt-4o', 'WrongType'],
        [['a', 'a'], 'InvalidValue'],
        [['a b'], 'InvalidValue', 'match.models[0]'],
        [[''], 'InvalidValue', 'match.models[0]'],
        [Array.from({ length: 65 }, (_, i) => `m${i}`), 'InvalidValue'],
      ],
    ],
    ...headers('match.headers'),
    group('access'),
    [
      'access.tenants',
      [undefined, ['a'], ['a', 'b.c']],
      [
        [[], 'InvalidValue'],
        [['A'], 'InvalidValue', 'access.tenants[0]'],
      ],
    ],
    ...labels('access.namespaces'),
    [
      'backends',
      [
        [
          { name: 'a', model: 'x' },
          { name: 'a', model: 'y' },
          { name: 'a', namespace: 'b', model: 'x' },
          { name: 'a' },
        ],
        [{ name: 'a', weight: 0 }, { name: 'b' }],
      ],
      [
        [undefined, 'Required'],
        [[], 'InvalidValue'],
        [[{ name: 'a' }, { name: 'a' }], 'InvalidValue'],
        [
          [
            { name: 'a', model: 'x' },
            { name: 'a', weight: 2, model: 'x' },
          ],
          'InvalidValue',
        ],
        [[{ name: 'a', weight: 0 }], 'InvalidValue'],
        [['a'], 'WrongType', 'backends[0]'],
        [Array.from({ length: 33 }, (_, i) => ({ name: `b${i}` })), 'InvalidValue'],
        [[{ name: 'a', wieght: 1 }], 'UnknownField', 'backends[0].wieght'],
      ],
    ],
    objectName('backends[0].name'),
    label('backends[0].namespace', false),
    integer('backends[0].priority', 0, 100),
    integer('backends[0].weight', 0, 1_000_000),
    [
      'backends[0].model',
      [undefined, 'llama 3', 'modèle', 'accounts/x/models/y'],
      [
        ['', 'InvalidValue'],
        ['a\nb', 'InvalidValue'],
        ['x'.repeat(257), 'InvalidValue'],
      ],
    ],
    group('retry'),
    integer('retry.attempts', 1, 10),
    [
      'retry.failures',
      [undefined, [], ['Connect', 'Reset', 'BadResponse', 'Timeout']],
      [
        [['connect'], 'InvalidValue', 'retry.failures[0]'],
        ['Connect', 'WrongType'],
        [Array(5).fill('Reset'), 'InvalidValue'],
      ],
    ],
    [
      'retry.codes',
      [undefined, [], [400, 599]],
      [
        [[399], 'InvalidValue', 'retry.codes[0]'],
        [['503'], 'WrongType', 'retry.codes[0]'],
        [Array(33).fill(500), 'InvalidValue'],
      ],
    ],
    group('retry.backoff'),
    duration('retry.backoff.base', '0s'),
    duration('retry.backoff.max', '0s'),
    duration('timeout', '1ms'),
    duration('maxWait', '0s'),
  ],
}
