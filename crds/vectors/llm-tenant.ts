import { GATEWAY, label, objectName, secretKey, type Table } from './families.ts'

export const llmTenantTable: Table = {
  full: { gateway: 'weir', apiKeys: [{ name: 'k1', secretRef: { name: 'team-a', key: 'token' } }], anonymous: false },
  cases: [
    GATEWAY,
    [
      'apiKeys',
      [undefined, []],
      [
        ['k', 'WrongType'],
        [['a', 'a'].map(name => ({ name, secretRef: { name: 's', key: 'k' } })), 'InvalidValue', 'apiKeys[1].name'],
        [Array.from({ length: 17 }, (_, i) => ({ name: `k${i}`, secretRef: { name: 's', key: 'k' } })), 'InvalidValue'],
      ],
    ],
    label('apiKeys[0].name', true),
    ['apiKeys[0].secretRef', [{ name: 's', key: 'k' }], [[undefined, 'Required']]],
    objectName('apiKeys[0].secretRef.name'),
    secretKey('apiKeys[0].secretRef.key'),
    ['anonymous', [undefined, true, false], [['yes', 'WrongType']]],
  ],
}
