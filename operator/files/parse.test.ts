import { expect, test } from 'vitest'
import { parseFile } from './parse.ts'
import { formatPlace, formatProblem } from './problem.ts'

const problemsOf = (text: string) => parseFile('a.yaml', text).problems.map(formatProblem)

test('documents are told apart and empty ones left out', () => {
  const { documents, problems } = parseFile('a.yaml', '\uFEFF# only a comment\n---\nkind: A\n---\n---\nkind: B\n...\n')
  expect(problems).toEqual([])
  expect(documents.map(document => document.value)).toEqual([{ kind: 'A' }, { kind: 'B' }])
  expect(documents.map(document => formatPlace(document.at([])))).toEqual(['a.yaml:3:1', 'a.yaml:6:1'])
})

test('JSON is read too, indented with tabs', () => {
  const { documents, problems } = parseFile('a.json', '{\n\t"kind": "A",\n\t"spec": {\n\t\t"n": [1, 2]\n\t}\n}\n')
  expect(problems).toEqual([])
  expect(documents[0]?.value).toEqual({ kind: 'A', spec: { n: [1, 2] } })
  expect(formatPlace(documents[0]!.at(['spec', 'n', 1]))).toBe('a.json:4:12')
})

test('a List is flattened, and its items keep their own places', () => {
  const { documents, problems } = parseFile(
    'a.yaml',
    'apiVersion: v1\nkind: List\nmetadata: {}\nitems:\n- kind: A\n  spec:\n    x: 1\n- kind: List\n  apiVersion: v1\n  items: [{kind: B}]\n',
  )
  expect(problems).toEqual([])
  expect(documents.map(document => document.value.kind)).toEqual(['A', 'B'])
  expect(formatPlace(documents[0]!.at(['spec', 'x']))).toBe('a.yaml:7:8')
  expect(formatPlace(documents[1]!.at(['kind']))).toBe('a.yaml:10:18')
})

test('a place is that of the value, of the key, or of the nearest parent that exists', () => {
  const [document] = parseFile('a.yaml', 'kind: A\nspec:\n  match:\n    models: []\n  empty:\n').documents
  expect(formatPlace(document!.at(['spec', 'match', 'models']))).toBe('a.yaml:4:13')
  expect(formatPlace(document!.at(['spec', 'match', 'models'], 'key'))).toBe('a.yaml:4:5')
  expect(formatPlace(document!.at(['spec', 'match', 'headers', 0]))).toBe('a.yaml:3:3')
  expect(formatPlace(document!.at(['spec', 'backends']))).toBe('a.yaml:2:1')
  expect(formatPlace(document!.at(['spec', 'empty']))).toBe('a.yaml:5:3')
  expect(formatPlace(document!.at(['metadata', 'name']))).toBe('a.yaml:1:1')
})

test('a value that came through an anchor is shown where it is written', () => {
  const text = 'x: &x\n  timeout: 5\nspec: *x\nother:\n  <<: *x\n  name: n\n'
  const [document] = parseFile('a.yaml', text).documents
  expect(document?.value.other).toEqual({ timeout: 5, name: 'n' })
  expect(formatPlace(document!.at(['spec', 'timeout']))).toBe('a.yaml:2:12')
  expect(formatPlace(document!.at(['other', 'timeout']))).toBe('a.yaml:2:12')
})

test.each([
  ['a: [1, 2\nb: 3\n', 'a.yaml:2:1: not valid YAML: '],
  ['a: 1\n\tb: 2\n', 'a.yaml:2:1: not valid YAML: '],
  ['a: 1\na: 2\n', 'a.yaml:2:1: not valid YAML: map keys must be unique'],
  ['a: *nowhere\n', 'a.yaml:1:4: not valid YAML: no anchor &nowhere before it'],
  ['a: !custom b\n', 'a.yaml:1:4: not valid YAML: unresolved tag: !custom'],
  ['{"kind": "A",', 'a.yaml:1:14: not valid YAML: '],
])('%j is not valid YAML', (text, start) => {
  const { documents } = parseFile('a.yaml', `${text}---\nkind: B\n`)
  expect(documents).toEqual([])
  expect(problemsOf(text)[0]).toContain(start)
})

test('aliases that multiply are refused', () => {
  const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i}, `.repeat(9)}]`)
  expect(problemsOf(`l0: &l0 [x]\n${levels.join('\n')}\n`)).toEqual([expect.stringContaining('alias')])
})

test.each([
  ['just text\n', 'a.yaml:1:1: the document is not an object'],
  ['- a\n', 'a.yaml:1:1: the document is not an object'],
  ['apiVersion: v1\nkind: List\nitems: {}\n', 'a.yaml:3:8: items of a List must be a list'],
  ['apiVersion: v1\nkind: List\nitems: [1]\n', 'a.yaml:3:9: items[0] is not an object'],
  ['apiVersion: v2\nkind: List\nitems: []\n', 'a.yaml:1:13: a List has apiVersion: v1'],
  ['apiVersion: v1\nkind: List\nitem: []\n', 'a.yaml:3:1: unknown field "item" in a List'],
])('%j is no document of objects', (text, start) => {
  expect(problemsOf(text)[0]).toContain(start)
})
