import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FileSource, type LoadedFiles } from './source.ts'

let folder: string
let source: FileSource | undefined
let latest: LoadedFiles | undefined
let calls = 0

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-watch-'))
  calls = 0
})
afterEach(() => {
  source?.close()
  rmSync(folder, { recursive: true, force: true })
})

const tenant = (name: string) =>
  `apiVersion: weir.dev/v1alpha1\nkind: LLMTenant\nmetadata: {name: ${name}}\nspec: {anonymous: true}\n`

function watch(path: string): void {
  source = new FileSource([path])
  latest = source.load()
  source.watch(loaded => {
    latest = loaded
    calls++
  })
}

async function seen(...names: string[]): Promise<void> {
  const now = () => latest?.resources.objects.map(object => object.metadata.name)
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline && JSON.stringify(now()) !== JSON.stringify(names)) {
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  expect(now()).toEqual(names)
}

test('a file that is written, replaced by rename, deleted and made again', async () => {
  const file = join(folder, 'a.yaml')
  writeFileSync(file, tenant('one'))
  watch(file)
  writeFileSync(file, tenant('two'))
  await seen('two')
  writeFileSync(join(folder, 'a.yaml.tmp'), tenant('three'))
  renameSync(join(folder, 'a.yaml.tmp'), file)
  await seen('three')
  renameSync(file, `${file}~`)
  writeFileSync(file, tenant('four'))
  await seen('four')
  rmSync(file)
  await seen()
  writeFileSync(file, tenant('five'))
  await seen('five')
})

test('files that appear in a folder, and the folder itself made anew', async () => {
  const inner = join(folder, 'conf')
  mkdirSync(inner)
  writeFileSync(join(inner, 'a.yaml'), tenant('a'))
  watch(inner)
  writeFileSync(join(inner, 'b.yaml'), tenant('b'))
  await seen('a', 'b')
  rmSync(inner, { recursive: true })
  await seen()
  mkdirSync(inner)
  writeFileSync(join(inner, 'c.yaml'), tenant('c'))
  await seen('c')
  writeFileSync(join(inner, 'd.yaml'), tenant('d'))
  await seen('c', 'd')
})

test('a mounted ConfigMap: links into a folder that is swapped by a link', async () => {
  for (const version of ['v1', 'v2']) {
    mkdirSync(join(folder, version))
    writeFileSync(join(folder, version, 'a.yaml'), tenant(version))
  }
  symlinkSync('v1', join(folder, '..data'))
  symlinkSync('..data/a.yaml', join(folder, 'a.yaml'))
  watch(folder)
  await seen('v1')
  symlinkSync('v2', join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  await seen('v2')
})

test('every one of 20 quick edits leads to the last state', async () => {
  const file = join(folder, 'a.yaml')
  writeFileSync(file, tenant('start'))
  watch(file)
  for (let i = 0; i < 20; i++) {
    writeFileSync(file, tenant(`edit-${i}`))
    await new Promise(resolve => setTimeout(resolve, 15))
  }
  await seen('edit-19')
})

test('a log beside the files causes no reading, and nothing is reported after close', async () => {
  const file = join(folder, 'a.yaml')
  writeFileSync(file, tenant('a'))
  watch(file)
  for (let i = 0; i < 5; i++) writeFileSync(join(folder, 'access.log'), `${i}\n`)
  await new Promise(resolve => setTimeout(resolve, 150))
  expect(calls).toBe(0)
  source?.close()
  writeFileSync(file, tenant('b'))
  await new Promise(resolve => setTimeout(resolve, 1_300))
  expect(calls).toBe(0)
})
