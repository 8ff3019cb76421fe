import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { customResourceDefinition } from './crd.ts'
import { absentMeans, DEFAULTS } from './defaults.ts'
import { generatedFiles } from './generate.ts'
import { KIND_NAMES, KINDS } from './kinds.ts'

const root = join(import.meta.dirname, '..')
const files = generatedFiles()

describe('files on disk are what `npm run generate` writes', () => {
  test.each([...files])('%s', async (path, text) => {
    expect(await readFile(join(root, path), 'utf8')).toBe(text)
  })

  test.each(['crds/generated', 'docs/reference'])('%s holds nothing else', async folder => {
    const expected = [...files.keys()]
      .filter(path => path.startsWith(folder))
      .map(path => path.slice(folder.length + 1))
    // The page of errors is generated beside the catalogue, by the data plane.
    const found = (await readdir(join(root, folder))).filter(name => name !== 'errors.md')
    expect(found.sort()).toEqual(expected.sort())
  })
})

test.each(KIND_NAMES)('%s reads the same in the YAML 1.1 of kubectl and in YAML 1.2', kind => {
  const text = files.get(`crds/generated/${KINDS[kind].plural}.yaml`)!
  expect(parse(text, { version: '1.1' })).toEqual(customResourceDefinition(kind))
  expect(parse(text)).toEqual(customResourceDefinition(kind))
})

test('the reference names the default of a field', () => {
  const page = files.get('docs/reference/modelbackend.md')!
  expect(page).toContain(`| \`spec.queue.depth\` | integer | ${DEFAULTS.modelBackend.queueDepth} |`)
  expect(page).toContain('| `spec.provider` | string | required |')
  expect(page).not.toContain('Absent means')
  expect(absentMeans([])).toBe('Absent means none.')
})
