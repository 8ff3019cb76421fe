import { describe, expect, test } from 'vitest'
import { type Schema, specSchema } from './json-schema.ts'
import { KIND_NAMES } from './kinds.ts'
import { formatPath } from './path.ts'
import { validateObject } from './validate.ts'
import { VECTORS } from './vectors.ts'

describe('every vector', () => {
  test.each(VECTORS.filter(vector => !vector.old))('$name', ({ object, valid, path, code }) => {
    const found = validateObject(object).problems.map(problem => `${problem.code} at ${formatPath(problem.path)}`)
    expect(found).toEqual(valid ? [] : [`${code} at ${path}`])
  })

  // Nothing but the transition itself may be what the API server objects to.
  test.each(VECTORS.filter(vector => vector.old))('$name: both sides are valid by themselves', ({ old, object }) => {
    expect(validateObject(old).problems).toEqual([])
    expect(validateObject(object).problems).toEqual([])
  })
})

test.each(KIND_NAMES)('every field of %s has a good and a bad vector', kind => {
  const mine = VECTORS.filter(vector => vector.kind === kind)
  const covered = (valid: boolean) => new Set(mine.filter(v => v.valid === valid).map(v => v.field))
  const fields = fieldsOf(specSchema(kind), 'spec')
  // Required objects have no other good value than the full example.
  const good = new Set([...covered(true), 'spec.endpoint', 'spec.match'])
  expect(fields.filter(field => !good.has(field))).toEqual([])
  expect(fields.filter(field => !covered(false).has(field))).toEqual([])
})

function fieldsOf(schema: Schema, path: string): string[] {
  if (schema.items) return fieldsOf(schema.items, `${path}[]`)
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    `${path}.${name}`,
    ...fieldsOf(field, `${path}.${name}`),
  ])
}
