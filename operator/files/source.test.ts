import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { formatPlace, formatProblem } from './problem.ts'
import { FileSource, type LoadedFiles } from './source.ts'

let folder: string
let source: FileSource

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-files-'))
  source = new FileSource([folder], { KEY: 'k-1' })
})
afterEach(() => {
  source.close()
  rmSync(folder, { recursive: true })
})

const route = (name: string, extra = '') =>
  `apiVersion: weir.dev/v1alpha1
kind: LLMRoute
metadata:
  name: ${name}
spec:
  match:
    models: [m]
  backends:
    - name: b
${extra}---
`
const secret = (value: string) => `apiVersion: v1
kind: Secret
metadata: {name: s, namespace: apps}
stringData:
  token: ${value}
---
`
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const problemsOf = (loaded: LoadedFiles) => loaded.problems.map(p => formatProblem(p).replaceAll(`${folder}/`, ''))
const namesOf = (loaded: LoadedFiles) => loaded.resources.objects.map(object => object.metadata.name)
const find = (loaded: LoadedFiles, name: string) =>
  loaded.resources.objects.find(object => object.metadata.name === name)!.metadata

/** Loads again until a file that was just written is no longer taken for half written. */
async function reload(until: (loaded: LoadedFiles) => boolean): Promise<LoadedFiles> {
  for (let i = 0; i < 200; i++) {
    const loaded = source.load()
    if (until(loaded)) return loaded
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error('the change was never seen')
}

describe('reading', () => {
  test('objects and Secrets of a folder, namespace default unless said', () => {
    write('b.yaml', route('b'))
    write('a.yml', route('a') + secret(`"$\{KEY}"`))
    write('c.json', JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'j' }, data: { k: 'aMOp' } }))
    write('.#b.yaml', 'not: read')
    write('notes.txt', 'not: read')
    const loaded = source.load()
    expect(problemsOf(loaded)).toEqual([])
    expect(namesOf(loaded)).toEqual(['a', 'b'])
    expect(find(loaded, 'a')).toMatchObject({ namespace: 'default', generation: 1 })
    expect(loaded.resources.secrets).toEqual([
      { namespace: 'apps', name: 's', labelled: true, data: { token: 'k-1' } },
      { namespace: 'default', name: 'j', labelled: true, data: { k: 'hé' } },
    ])
    expect(loaded.objects.size).toBe(4)
    expect(formatPlace(loaded.objects.get('LLMRoute/default/b')!.at(['spec', 'match']))).toBe(`${folder}/b.yaml:7:5`)
  })

  test('what kubectl prints is accepted: status and what the server sets are ignored', () => {
    const set = '  uid: x\n  resourceVersion: "4"\n  generation: 7\n  creationTimestamp: "2026-01-01T00:00:00Z"\n'
    write('a.yaml', `${route('a').replace('metadata:\n', `metadata:\n${set}`).replace('---\n', '')}status: {x: 1}\n`)
    const loaded = source.load()
    expect(problemsOf(loaded)).toEqual([])
    expect(find(loaded, 'a').generation).toBe(1)
  })

  test.each([
    [
      'unknown field',
      route('a', '  retires: {}\n'),
      'a.yaml:10:3: LLMRoute default/a: spec.retires is an unknown field',
    ],
    ['wrong type', route('a').replace('[m]', 'm'), 'a.yaml:7:13: LLMRoute default/a: spec.match.models must be a list'],
    [
      'absent field',
      route('a').replace('models: [m]', 'headers: []'),
      'a.yaml:6:3: LLMRoute default/a: spec.match.models is',
    ],
    ['unknown kind', route('a').replace('LLMRoute', 'LLMRuote'), 'a.yaml:2:7: kind must be one of ModelBackend'],
    ['foreign kind', 'apiVersion: v1\nkind: Pod\n', 'a.yaml:2:7: kind must be one of ModelBackend'],
    ['no kind', 'apiVersion: v1\n', 'a.yaml:1:1: kind must be one of ModelBackend'],
    ['old version', route('a').replace('alpha1', 'alpha0'), 'a.yaml:1:13: apiVersion must be weir.dev/v1alpha1'],
    ['no name', route('a').replace('name: a', 'labels: {}'), 'a.yaml:3:1: metadata.name is required'],
    ['bad name', route('A_b'), 'a.yaml:4:9: metadata.name'],
    ['malformed YAML', `${route('a')}x: [`, 'a.yaml:11:5: not valid YAML'],
    [
      'unset variable',
      secret(`"$\{GONE}"`),
      'a.yaml:5:10: Secret apps/s: stringData.token: the environment variable GONE',
    ],
    [
      'bad base64',
      secret('x').replace('stringData', 'data'),
      'a.yaml:5:10: Secret apps/s: data.token: not valid base64',
    ],
    ['Secret number', secret('12'), 'a.yaml:5:10: Secret apps/s: stringData.token must be text'],
    [
      'Secret field',
      secret('x').replace('stringData', 'strngData'),
      'a.yaml:4:1: Secret apps/s: unknown field "strngData"',
    ],
    ['Secret key', secret('x').replace('token', '"a b"'), 'a.yaml:5:3: Secret apps/s: "a b" is no key'],
    ['Secret name', secret('x').replace('name: s', 'name: S!'), 'a.yaml:3:18: metadata.name must be'],
  ])('%s is reported where it stands', (_, text, expected) => {
    write('a.yaml', text)
    const loaded = source.load()
    expect(problemsOf(loaded)[0]).toContain(expected)
    expect(loaded.resources.secrets).toEqual([])
  })

  test('a variable outside a Secret is not replaced', () => {
    write('a.yaml', route('a').replace('[m]', `["$\{KEY}"]`))
    expect(source.load().resources.objects[0]?.spec).toMatchObject({ match: { models: [`$\{KEY}`] } })
  })

  test('a name that stands twice is reported with its first place, and the first one serves', () => {
    write('a.yaml', route('a') + secret('x'))
    write('b.yaml', `${route('b')}${route('a').replace('[m]', '[other]')}${secret('y')}`)
    const loaded = source.load()
    expect(problemsOf(loaded)).toEqual([
      'b.yaml:14:9: LLMRoute default/a is defined twice; the first stands at a.yaml:1:1',
      'b.yaml:23:18: Secret apps/s is defined twice; the first stands at a.yaml:11:1',
    ])
    expect(loaded.resources.objects[0]?.spec).toMatchObject({ match: { models: ['m'] } })
    expect(loaded.resources.secrets[0]?.data).toEqual({ token: 'x' })
  })

  test('a file that is named twice is read once', () => {
    write('a.yaml', route('a'))
    source = new FileSource([folder, join(folder, 'a.yaml')])
    expect(problemsOf(source.load())).toEqual([])
  })

  test('paths that cannot be used say why', () => {
    source = new FileSource([folder, join(folder, 'absent.yaml')])
    expect(source.load().problems.map(problem => problem.message)).toEqual([
      'no .yaml, .yml or .json file in this folder',
      'no such file or folder',
    ])
  })
})

describe('reading again', () => {
  test('an invalid object goes on as it is written, under its own name, while the others change', async () => {
    write('a.yaml', route('a') + route('b'))
    const before = source.load()
    write('a.yaml', route('a', '  timeout: soon\n') + route('b', '  timeout: 5s\n'))
    const after = await reload(loaded => loaded.problems.length > 0)
    expect(problemsOf(after)[0]).toContain('a.yaml:10:12: LLMRoute default/a: spec.timeout')
    expect(find(after, 'a')).toMatchObject({ uid: find(before, 'a').uid, generation: 2 })
    expect(find(after, 'b')).toMatchObject({ uid: find(before, 'b').uid, generation: 2 })
    expect(after.objects.get('LLMRoute/default/a')?.identity).toMatchObject({
      uid: find(before, 'a').uid,
      generation: 2,
    })
  })

  test('an unparsable file keeps its last good objects; other files change', async () => {
    write('a.yaml', route('a'))
    write('b.yaml', route('b'))
    source.load()
    write('a.yaml', 'a: [')
    write('b.yaml', route('c'))
    const after = await reload(loaded => loaded.problems.length > 0 && namesOf(loaded).includes('c'))
    expect(namesOf(after).sort()).toEqual(['a', 'c'])
  })

  test.each([
    ['kind', (text: string) => text.replace('LLMRoute', 'LLMRout')],
    ['name', (text: string) => text.replace('name: a', 'nme: a')],
  ])('an object whose %s is misspelt is not taken for removed', async (_, spoil) => {
    write('a.yaml', route('a') + route('b'))
    const before = source.load()
    write('a.yaml', spoil(route('a')) + route('b'))
    const spoilt = await reload(loaded => loaded.problems.length > 0)
    expect(find(spoilt, 'a')).toEqual(find(before, 'a'))
    write('a.yaml', route('a') + route('b'))
    const mended = await reload(loaded => loaded.problems.length === 0)
    expect(find(mended, 'a')).toEqual(find(before, 'a'))
  })

  test('a deleted file removes its objects, and one that comes back has new objects', async () => {
    write('a.yaml', route('a'))
    write('b.yaml', route('b'))
    const before = source.load()
    rmSync(join(folder, 'a.yaml'))
    expect(namesOf(source.load())).toEqual(['a', 'b'])
    expect(namesOf(await reload(loaded => loaded.objects.size === 1))).toEqual(['b'])
    write('a.yaml', route('a'))
    const after = await reload(loaded => loaded.objects.size === 2)
    expect(find(after, 'a').uid).not.toBe(find(before, 'a').uid)
    expect(find(after, 'b')).toEqual(find(before, 'b'))
  })

  test('a file that is emptied and written again within a save keeps its objects', async () => {
    write('a.yaml', route('a'))
    const before = source.load()
    write('a.yaml', '')
    expect(find(source.load(), 'a')).toEqual(find(before, 'a'))
    write('a.yaml', route('a', '  timeout: 5s\n'))
    const after = await reload(loaded => find(loaded, 'a').generation === 2)
    expect(find(after, 'a').uid).toBe(find(before, 'a').uid)
  })

  test('a file that stays empty has no objects', async () => {
    write('a.yaml', route('a'))
    source.load()
    write('a.yaml', '')
    expect((await reload(loaded => loaded.objects.size === 0)).problems).toEqual([])
  })

  test('a renamed file is no duplicate, and its objects stay the same', async () => {
    write('z.yaml', route('a'))
    const before = source.load()
    renameSync(join(folder, 'z.yaml'), join(folder, 'a.yaml'))
    const during = source.load()
    expect(problemsOf(during)).toEqual([])
    expect(find(during, 'a')).toEqual(find(before, 'a'))
    await reload(loaded => formatPlace(loaded.objects.get('LLMRoute/default/a')!.at([])).endsWith('/a.yaml:1:1'))
  })

  test('a Secret whose variable is misspelt keeps its last value', async () => {
    write('a.yaml', secret(`"$\{KEY}"`))
    source.load()
    write('a.yaml', secret(`"$\{KYE}"`))
    const after = await reload(loaded => loaded.problems.length > 0)
    expect(after.resources.secrets[0]?.data).toEqual({ token: 'k-1' })
  })
})
