import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { customResourceDefinition } from './crd.ts'
import { KIND_NAMES, KINDS } from './kinds.ts'
import { lintCrd } from './lint.ts'
import { referencePage } from './reference.ts'

// kubectl and Helm read YAML 1.1, in which a bare `on` is true and a bare date is no string.
const FORMAT = { version: '1.1', aliasDuplicateObjects: false, lineWidth: 120 } as const

const HEADER = '# Written by `npm run generate` from the schemas in crds/; do not edit.\n'

/** Every generated file: its path from the root of the project, and its text. Throws when a CRD has a lint problem. */
export function generatedFiles(): Map<string, string> {
  const files = new Map<string, string>()
  for (const kind of KIND_NAMES) {
    const crd = customResourceDefinition(kind)
    const problems = lintCrd(crd)
    if (problems.length > 0) throw new Error(`the CRD of ${kind} has faults:\n  ${problems.join('\n  ')}`)
    const { plural, singular } = KINDS[kind]
    files.set(`crds/generated/${plural}.yaml`, HEADER + stringify(crd, FORMAT))
    files.set(`docs/reference/${singular}.md`, referencePage(kind))
  }
  return files
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  for (const [path, text] of generatedFiles()) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
    console.log(path)
  }
}
