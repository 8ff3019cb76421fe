import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonDocument, WANTED } from '../testdata/json-text.ts'
import { JsonScanError, MAX_DEPTH, readValue, scanTopLevel } from './json-scan.ts'

function values(bytes: Buffer): unknown[] {
  const found = scanTopLevel(bytes, WANTED)
  return WANTED.map((_, index) => readValue(bytes, found, index))
}

/** What JSON.parse finds under the same keys; null when it takes the bytes for no object. */
function parsedValues(bytes: Buffer): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(bytes.toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null
    return WANTED.map(key => (Object.hasOwn(parsed, key) ? (parsed as Record<string, unknown>)[key] : undefined))
  } catch {
    return null
  }
}

function scan(text: string) {
  return scanTopLevel(Buffer.from(text), WANTED)
}

describe('a document that JSON.parse accepts', () => {
  test('is accepted, and the wanted values are the same', () => {
    fc.assert(
      fc.property(jsonDocument, ({ text, keys }) => {
        const bytes = Buffer.from(text)
        expect(values(bytes)).toEqual(parsedValues(bytes))
        const twice = WANTED.filter(name => keys.filter(key => key === name).length > 1)
        const { duplicate } = scanTopLevel(bytes, WANTED)
        if (twice.length === 0) expect(duplicate).toBeNull()
        else expect(twice).toContain(duplicate)
      }),
      { numRuns: 2000 },
    )
  })

  test('has its values cut out to the byte', () => {
    fc.assert(
      fc.property(jsonDocument, ({ text }) => {
        const bytes = Buffer.from(text)
        const { starts, ends } = scanTopLevel(bytes, WANTED)
        for (const [index, start] of starts.entries()) {
          if (start < 0) continue
          const value = bytes.toString('utf8', start, ends[index])
          expect(value).toBe(value.trim())
        }
      }),
      { numRuns: 500 },
    )
  })

  test('may have an escaped key, which is found under its real name', () => {
    expect(values(Buffer.from(String.raw`{"mod\u0065l":"a","\u0073tream":true}`))).toEqual(['a', true])
  })

  test('may have the wanted names inside of other values', () => {
    const text = String.raw`{"a":{"model":"x"},"b":["model",{"stream":1}],"c":"\"model\":\"y\"","model":"real"}`
    expect(values(Buffer.from(text))).toEqual(['real', undefined])
  })

  test('keeps the digits of a number', () => {
    const bytes = Buffer.from('{"model":9007199254740993 ,"stream":1.10}')
    const { starts, ends } = scanTopLevel(bytes, WANTED)
    expect(bytes.toString('utf8', starts[0], ends[0])).toBe('9007199254740993')
    expect(bytes.toString('utf8', starts[1], ends[1])).toBe('1.10')
  })

  test('may be empty, with spaces around', () => {
    expect(scan(' \t\r\n{ \n} \n')).toEqual({ starts: [-1, -1], ends: [-1, -1], duplicate: null, lookalike: null })
  })

  test('may have strings with any run of backslashes and quotes around the 64th byte', () => {
    for (let before = 56; before <= 70; before++) {
      for (let run = 0; run <= 6; run++) {
        for (const after of ['', '"', 'y', '"y"', 'y'.repeat(80)]) {
          const text = 'x'.repeat(before) + '\\'.repeat(run) + after
          const bytes = Buffer.from(`{"a":${JSON.stringify(text)},${JSON.stringify(text)}:1,"model":"m"}`)
          expect(values(bytes), bytes.toString()).toEqual(['m', undefined])
        }
      }
    }
  })

  test('may be full of escaped quotes without costing more than its length', () => {
    const bytes = Buffer.from(`{"a":"${'\\"'.repeat(1_000_000)}","model":"m"}`)
    const startedAt = performance.now()
    expect(values(bytes)).toEqual(['m', undefined])
    expect(performance.now() - startedAt).toBeLessThan(5000)
  })
})

describe('nesting', () => {
  const nested = (depth: number) =>
    `{"a":${'[{"b":'.repeat(depth / 2)}${'['.repeat(depth % 2)}${']'.repeat(depth % 2)}${depth % 2 ? '' : '1'}${'}]'.repeat(depth / 2)},"model":"m"}`

  test('is accepted up to MAX_DEPTH', () => {
    for (const depth of [2, 3, MAX_DEPTH - 1, MAX_DEPTH]) {
      const bytes = Buffer.from(nested(depth))
      expect(values(bytes)).toEqual(parsedValues(bytes))
    }
  })

  test('is refused beyond it, with the reason', () => {
    for (const depth of [MAX_DEPTH + 1, MAX_DEPTH + 2, 100_000]) {
      expect(() => scan(nested(depth))).toThrow(`nested deeper than ${MAX_DEPTH} levels`)
    }
  })

  test('is not counted over values that stand side by side', () => {
    expect(scan(`{${Array.from({ length: 3000 }, (_, i) => `"k${i}":[[]]`)}}`).duplicate).toBeNull()
  })
})

describe('keys that stand twice', () => {
  test.each([
    ['plainly', '{"model":"a","model":"b"}'],
    ['once escaped', String.raw`{"model":"a","mod\u0065l":"b"}`],
    ['with the same value', '{"model":"a","x":1,"model":"a"}'],
  ])('are reported: %s', (_, text) => {
    expect(scan(text).duplicate).toBe('model')
  })

  test('are not reported for other names', () => {
    expect(scan('{"x":1,"x":2,"model":"a"}').duplicate).toBeNull()
  })

  // Go's decoder, which Ollama uses, would take each of these for the wanted key.
  test.each(['Model', 'MODEL', 'mOdel', 'ſtream', String.raw`\u004dodel`])('%s is reported as a lookalike', key => {
    expect(scan(`{"model":"a","${key}":"b"}`).lookalike).toBe(JSON.parse(`"${key}"`))
  })

  test.each(['models', 'mode', 'm0del', 'modél', ''])('%j is no lookalike', key => {
    expect(scan(`{"model":"a","${key}":"b"}`).lookalike).toBeNull()
  })
})

describe('a document that is none', () => {
  test.each([
    ['empty input', ''],
    ['only spaces', ' \n'],
    ['a byte order mark', '\ufeff{"model":"m"}'],
    ['an array', '[{"model":"m"}]'],
    ['a string', '"model"'],
    ['null', 'null'],
    ['bytes behind the end', '{"model":"m"}x'],
    ['a second document', '{"model":"m"}{"model":"n"}'],
    ['a NUL behind the end', '{"model":"m"}\0'],
    ['a trailing comma', '{"model":"m",}'],
    ['a missing comma', '{"model":"m" "stream":true}'],
    ['a missing colon', '{"model" "m"}'],
    ['a missing value', '{"model":}'],
    ['a bare key', '{model:"m"}'],
    ['single quotes', "{'model':'m'}"],
    ['a comment', '{/* */"model":"m"}'],
    ['mismatched brackets', '{"a":[1},"model":"m"]'],
    ['NaN', '{"model":NaN}'],
    ['a malformed escape in a key', String.raw`{"mod\xel":1}`],
    ['a raw line break in an escaped key', '{"a\\n\n":1}'],
    ['a vertical tab as space', '{\v"model":"m"}'],
    ['a no-break space', '{"model":\u00a0"m"}'],
  ])('is refused: %s', (_, text) => {
    expect(() => values(Buffer.from(text))).toThrow(JsonScanError)
  })

  test('is refused when it is cut anywhere', () => {
    const bytes = Buffer.from(String.raw`{"a\"":[{"b":"\\\"]"},-1.5e3,true],"ü":{"model":null},"model" : "m\u0065" } `)
    expect(values(bytes)[0]).toBe('me')
    for (let end = 0; end < bytes.lastIndexOf('}'); end++) {
      expect(() => scanTopLevel(bytes.subarray(0, end), WANTED), `cut at ${end}`).toThrow(JsonScanError)
    }
  })

  test('is refused when its wanted value is malformed, with where it stands', () => {
    for (const value of ['tru', '01', '"\\x"', '{"a":}', '[1 2]', '--1']) {
      expect(() => values(Buffer.from(`{"model":${value}}`))).toThrow(/malformed value at byte 9/)
    }
  })

  test('never fails otherwise, and never disagrees with JSON.parse after any mutation', () => {
    const edit = fc.record({
      at: fc.nat(10_000),
      remove: fc.nat(3),
      insert: fc.array(
        fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\ \nen10')), fc.integer({ min: 0, max: 255 })),
        {
          maxLength: 3,
        },
      ),
    })
    const check = (bytes: Buffer) => {
      const parsed = parsedValues(bytes)
      if (parsed) return expect(values(bytes), bytes.toString('latin1')).toEqual(parsed)
      try {
        values(bytes)
      } catch (error) {
        expect(error, bytes.toString('latin1')).toBeInstanceOf(JsonScanError)
      }
    }
    fc.assert(
      fc.property(jsonDocument, fc.array(edit, { minLength: 1, maxLength: 3 }), ({ text }, edits) => {
        let bytes = Buffer.from(text)
        for (const { at, remove, insert } of edits) {
          const start = at % (bytes.length + 1)
          bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(insert), bytes.subarray(start + remove)])
        }
        check(bytes)
      }),
      { numRuns: 5000 },
    )
  })
})
