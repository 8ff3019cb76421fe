import fc from 'fast-check'

/** The keys that the tests look for. */
export const WANTED = ['model', 'stream'] as const

const space = fc.array(fc.constantFrom(' ', '\n', '\r', '\t'), { maxLength: 2 }).map(parts => parts.join(''))

/** A string as JSON text: any of its characters may be escaped, as `\uXXXX` in either case of the digits. */
function stringText(content: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const style = fc.array(fc.constantFrom('plain', 'plain', 'plain', 'lower', 'upper'), { minLength: 1, maxLength: 8 })
  return fc.tuple(content, style).map(([text, styles]) => {
    const parts = [...text].map((character, i) => {
      const how = styles[i % styles.length]
      return how === 'plain' ? JSON.stringify(character).slice(1, -1) : escaped(character, how === 'upper')
    })
    return `"${parts.join('')}"`
  })
}

function escaped(character: string, upper: boolean): string {
  return character
    .split('')
    .map(unit => {
      const digits = unit.charCodeAt(0).toString(16).padStart(4, '0')
      return `\\u${upper ? digits.toUpperCase() : digits}`
    })
    .join('')
}

const content = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  {
    weight: 2,
    arbitrary: fc.string({ unit: fc.constantFrom('\\', '"', '{', '}', ',', ':', 'é', '😀', '/'), maxLength: 9 }),
  },
  // Long ones, so that the end lies on either side of the 64 bytes that are looked at one by one.
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 55, max: 70 }), fc.string({ unit: fc.constantFrom('\\', '"', 'x'), maxLength: 9 }))
      .map(([length, tail]) => 'x'.repeat(length) + tail),
  },
)

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.bigInt().map(String),
  fc.constantFrom('0', '-0', '1.10', '9007199254740993', '1E5', '1e+400', '-2.5e-7', '0E0'),
)

const { value } = fc.letrec<{ value: string; array: string; object: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null'),
    number,
    stringText(content),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
    .map(items => `[${items.map(parts => parts.join('')).join(',')}]`),
  object: fc
    .array(fc.tuple(space, stringText(content), space, tie('value'), space), { maxLength: 4 })
    .map(items => `{${items.map(([a, key, b, inner, c]) => `${a}${key}${b}:${inner}${c}`).join(',')}}`),
}))

const key = stringText(fc.oneof(fc.constantFrom(...WANTED, 'mode', 'models', 'a', ''), content))

/** JSON objects as text, with the names of their top-level keys in order. Any spacing, any escapes, any duplicates. */
export const jsonDocument: fc.Arbitrary<{ text: string; keys: string[] }> = fc
  .tuple(space, fc.array(fc.tuple(space, key, space, space, value, space), { maxLength: 6 }), space)
  .map(([before, entries, after]) => ({
    text: `${before}{${entries.map(([a, name, b, c, inner, d]) => `${a}${name}${b}:${c}${inner}${d}`).join(',')}}${after}`,
    keys: entries.map(([, name]) => JSON.parse(name) as string),
  }))
