import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/**
 * Which folders a folder may import from, besides itself. A longer path is looked at first; what is not listed here is
 * not allowed. Tests stand outside: they may join whatever they need.
 */
const ALLOWED: Record<string, string[]> = {
  cli: ['operator', 'dataplane', 'crds', 'kube', 'demo'],
  operator: ['dataplane/config', 'kube', 'crds'],
  dataplane: ['kube'],
  crds: [],
  kube: [],
  demo: [],
}
const ROOT = join(import.meta.dirname, '..')
const IMPORT = /(?:^|[\s;}])(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\s*\(?\s*['"]([^'"]+)['"]/g

interface Import {
  from: string
  to: string
}

const imports: Import[] = globSync(`{${Object.keys(ALLOWED)}}/**/*.ts`, { cwd: ROOT })
  .filter(file => !/\.test\.ts$/.test(file))
  .flatMap(file =>
    importsOf(readFileSync(join(ROOT, file), 'utf8')).map(to => ({
      from: file,
      to: to.startsWith('.') ? normalize(join(dirname(file), to)) : to,
    })),
  )

function importsOf(source: string): string[] {
  return [...source.matchAll(IMPORT)].map(match => match[1] ?? match[2]!)
}

const folder = (file: string) => file.split('/')[0]!
const violations = (breaks: (each: Import) => boolean) =>
  imports.filter(breaks).map(({ from, to }) => `${from} imports ${to}`)

test('import statements of every form are found', () => {
  const source = `import a from './a.ts'
import {
  type B,
  c,
} from "../b.ts"
import './side.ts'
export * from './d.ts'
export { e } from './e.ts'
const f = await import('./f.ts')
// no import of what stands in a text: from nowhere
`
  expect(importsOf(source)).toEqual(['./a.ts', '../b.ts', './side.ts', './d.ts', './e.ts', './f.ts'])
  expect(imports.length).toBeGreaterThan(100)
})

test('imports follow the arrows', () => {
  const wrong = violations(({ from, to }) => {
    if (!/^(\.\.|[a-z]+)\//.test(to) || !to.endsWith('.ts')) return false
    if (folder(from) === folder(to)) return false
    return !ALLOWED[folder(from)]!.some(allowed => to.startsWith(`${allowed}/`))
  })
  expect(wrong).toEqual([])
})

test('nothing leaves the repository or reaches into the tests', () => {
  expect(violations(({ to }) => to.startsWith('..') || to.startsWith('/') || to.startsWith('test/'))).toEqual([])
})

test('the data plane does not load client-node, which costs it 48 MB', () => {
  const wrong = violations(
    ({ from, to }) => /^(dataplane|kube)\//.test(from) && to.startsWith('@kubernetes/client-node'),
  )
  expect(wrong).toEqual([])
})

test('the demo model stands alone', () => {
  expect(violations(({ from, to }) => folder(from) === 'demo' && !/^(node:|demo\/)/.test(to))).toEqual([])
})
