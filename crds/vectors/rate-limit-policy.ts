import { GATEWAY, label, objectName, type Table } from './families.ts'

export const rateLimitPolicyTable: Table = {
  full: {
    gateway: 'weir',
    targetRefs: [{ kind: 'LLMRoute', name: 'chat' }],
    limits: [{ name: 'rpm', by: [{ type: 'Tenant' }], requests: 600, per: '1m' }],
  },
  cases: [
    GATEWAY,
    [
      'targetRefs',
      [
        [
          { kind: 'LLMRoute', name: 'a' },
          { kind: 'LLMTenant', name: 'a' },
        ],
      ],
      [
        [undefined, 'Required'],
        [[], 'InvalidValue'],
        [
          [
            { kind: 'LLMRoute', name: 'a' },
            { kind: 'LLMRoute', name: 'a' },
          ],
          'InvalidValue',
        ],
        [Array.from({ length: 17 }, (_, i) => ({ kind: 'LLMRoute', name: `r${i}` })), 'InvalidValue'],
      ],
    ],
    [
      'targetRefs[0].kind',
      ['LLMRoute', 'ModelBackend', 'LLMTenant'],
      [
        [undefined, 'Required'],
        ['Service', 'InvalidValue'],
      ],
    ],
    objectName('targetRefs[0].name'),
    [
      'limits',
      [
        [
          { name: 'a', requests: 1, per: '1s' },
          { name: 'b', requests: 1, per: '1s' },
        ],
      ],
      [
        [undefined, 'Required'],
        [[], 'InvalidValue'],
        [
          [
            { name: 'a', requests: 1, per: '1s' },
            { name: 'a', requests: 2, per: '1s' },
          ],
          'InvalidValue',
          'limits[1].name',
        ],
        [Array.from({ length: 17 }, (_, i) => ({ name: `l${i}`, requests: 1, per: '1s' })), 'InvalidValue'],
      ],
    ],
    label('limits[0].name', true),
    [
      'limits[0].by',
      [undefined, [], [{ type: 'Model' }, { type: 'Tenant' }]],
      [
        [[{ type: 'Model' }, { type: 'Model' }], 'InvalidValue'],
        [['Tenant'], 'WrongType', 'limits[0].by[0]'],
      ],
    ],
    [
      'limits[0].by[0].type',
      ['Tenant', 'Model'],
      [
        [undefined, 'Required'],
        ['Route', 'InvalidValue'],
      ],
    ],
    [
      'limits[0].requests',
      [1, 1_000_000_000],
      [
        [undefined, 'Required'],
        [0, 'InvalidValue'],
        [1.5, 'WrongType'],
        [1_000_000_001, 'InvalidValue'],
      ],
    ],
    [
      'limits[0].per',
      ['1s', '24h', '1h30m'],
      [
        [undefined, 'Required'],
        ['999ms', 'InvalidValue'],
        ['24h1s', 'InvalidValue'],
        ['day', 'InvalidValue'],
      ],
    ],
  ],
}
