import type { ProblemCode } from '../problem.ts'

export type Bad = [value: unknown, code: ProblemCode, at?: string]
/** A field of the full example, values it may be given, and values it may not. Undefined removes it. */
export type Case = [path: string, good: unknown[], bad: Bad[]]

export const GATEWAY: Case = [
  'gateway',
  [undefined, 'weir', 'g-1'],
  [
    ['', 'InvalidValue'],
    ['Weir', 'InvalidValue'],
    [1, 'WrongType'],
    ['a'.repeat(64), 'InvalidValue'],
  ],
]

export const objectName = (path: string): Case => [
  path,
  ['a', 'a.b-c', 'a'.repeat(253)],
  [
    [undefined, 'Required'],
    ['', 'InvalidValue'],
    ['A', 'InvalidValue'],
    ['a..b', 'InvalidValue'],
    ['a'.repeat(254), 'InvalidValue'],
    [7, 'WrongType'],
  ],
]
export const label = (path: string, required: boolean): Case => [
  path,
  ['a', 'a-1', 'a'.repeat(63), ...(required ? [] : [undefined])],
  [
    ...(required ? [[undefined, 'Required'] as Bad] : []),
    ['a.b', 'InvalidValue'],
    ['-a', 'InvalidValue'],
    ['a'.repeat(64), 'InvalidValue'],
  ],
]
export const secretKey = (path: string): Case => [
  path,
  ['token', 'API_KEY.txt'],
  [
    [undefined, 'Required'],
    ['a/b', 'InvalidValue'],
    ['', 'InvalidValue'],
  ],
]
export const duration = (path: string, least: '0s' | '1ms'): Case => [
  path,
  [undefined, least, '1m30s', '168h', '250ms'],
  [
    ['5', 'InvalidValue'],
    ['1d', 'InvalidValue'],
    ['-1s', 'InvalidValue'],
    ['1.5s', 'InvalidValue'],
    ['169h', 'InvalidValue'],
    [30, 'WrongType'],
    ...(least === '0s' ? [] : [['0s', 'InvalidValue'] as Bad]),
  ],
]
export const integer = (path: string, least: number, most: number): Case => [
  path,
  [undefined, least, most],
  [
    [least - 1, 'InvalidValue'],
    [most + 1, 'InvalidValue'],
    [least + 0.5, 'WrongType'],
    ['1', 'WrongType'],
  ],
]
export const group = (path: string): Case => [
  path,
  [undefined, {}],
  [
    ['x', 'WrongType'],
    [[], 'WrongType'],
    [{ unknwon: 1 }, 'UnknownField', `${path}.unknwon`],
  ],
]
export const required = (path: string): Case => [
  path,
  [],
  [
    [undefined, 'Required'],
    [null, 'WrongType'],
    ['x', 'WrongType'],
  ],
]
export const headers = (path: string): Case[] => [
  [
    path,
    [undefined, []],
    [
      [
        [
          { name: 'x-a', value: '1' },
          { name: 'X-A', value: '2' },
        ],
        'InvalidValue',
      ],
      [Array.from({ length: 33 }, (_, i) => ({ name: `x-${i}`, value: 'v' })), 'InvalidValue'],
      [{ 'x-a': '1' }, 'WrongType'],
    ],
  ],
  [
    `${path}[0].name`,
    ['x-a', 'X_1'],
    [
      [undefined, 'Required'],
      ['', 'InvalidValue'],
      ['x a', 'InvalidValue'],
      ['x:', 'InvalidValue'],
    ],
  ],
  [
    `${path}[0].value`,
    ['a', 'a b\tc'],
    [
      [undefined, 'Required'],
      ['', 'InvalidValue'],
      [' a', 'InvalidValue'],
      ['a\nb', 'InvalidValue'],
      [true, 'WrongType'],
    ],
  ],
]
export const labels = (path: string): Case[] => [
  [
    path,
    [undefined, [], ['a', 'b']],
    [
      ['a', 'WrongType'],
      [Array(65).fill('a'), 'InvalidValue'],
      [['A'], 'InvalidValue', `${path}[0]`],
    ],
  ],
]

/** The vectors of a kind: an example that has every field, and what each field may be set to. */
export interface Table {
  full: Record<string, unknown>
  cases: Case[]
}
