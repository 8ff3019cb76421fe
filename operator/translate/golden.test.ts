import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { SNAPSHOT_SCHEMA, snapshotSchema } from '../../dataplane/config/snapshot.ts'
import { readCase } from './testdata/read-case.ts'
import { translate } from './translate.ts'

const FOLDER = join(import.meta.dirname, 'testdata')
/** `GOLDEN=update npx vitest run operator/translate` writes the outputs anew; then read the diff. */
const UPDATE = process.env.GOLDEN === 'update'

const names = readdirSync(FOLDER)
  .filter(file => file.endsWith('.in.yaml'))
  .map(file => file.slice(0, -'.in.yaml'.length))

describe('golden files: resources in, content and verdicts out', () => {
  test.each(names)('%s', name => {
    const { resources, published, options } = readCase(readFileSync(join(FOLDER, `${name}.in.yaml`), 'utf8'))
    const translation = translate(resources, published, options)
    // Unfolded: so the formatter leaves the files alone.
    const text = stringify(translation, { lineWidth: 0, aliasDuplicateObjects: false })
    const file = join(FOLDER, `${name}.out.yaml`)
    if (UPDATE) writeFileSync(file, text)
    expect(text).toBe(readFileSync(file, 'utf8'))
    // What is published must be what gateways can read, to the letter.
    const snapshot = { epoch: 'e', generation: 1, schema: { ...SNAPSHOT_SCHEMA }, ...translation.content }
    expect(snapshotSchema.parse(snapshot)).toEqual(snapshot)
  })

  test('every output has its input', () => {
    const outputs = readdirSync(FOLDER).filter(file => file.endsWith('.out.yaml'))
    expect(outputs.sort()).toEqual(names.map(name => `${name}.out.yaml`).sort())
  })
})
