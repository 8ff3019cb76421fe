import { z } from 'zod'
import { KINDS, type KindName } from './kinds.ts'

export interface Validation {
  rule: string
  message: string
  fieldPath?: string
}

/** The part of OpenAPI v3 that a structural schema may use. */
export interface Schema {
  description?: string
  type?: string
  /** What a pattern demands, in words: for the reference only, see `forCrd`. */
  form?: string
  format?: string
  default?: unknown
  enum?: string[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set'
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-validations'?: Validation[]
}

/** JSON Schema of a kind's spec. Throws on what zod checks and JSON Schema would silently lose. */
export function specSchema(kind: KindName): Schema {
  return convert(KINDS[kind].spec)
}

/** JSON Schema of a zod schema; see `specSchema`. */
export function convert(schema: z.ZodType): Schema {
  // With io 'output' fields that have a default would be required.
  const converted = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', cycles: 'throw' }) as Schema
  const lost = losses(schema, converted, '')
  if (lost.length > 0) throw new Error(`the CRD would not check what zod checks:\n  ${lost.join('\n  ')}`)
  return converted
}

function losses(schema: z.ZodType, converted: Schema, path: string): string[] {
  if (schema instanceof z.ZodOptional) return losses(schema.unwrap() as z.ZodType, converted, path)
  const lost: string[] = []
  const checks = (schema._zod.def.checks ?? []).map(check => check._zod.def)
  for (const check of checks) {
    const pattern = 'pattern' in check ? check.pattern : undefined
    if (pattern instanceof RegExp && pattern.flags.replace('u', ''))
      lost.push(`${path}: the pattern ${pattern} loses its flags`)
  }
  const refinements = checks.filter(check => check.check === 'custom').length
  const twins = converted['x-kubernetes-validations']?.length ?? 0
  // A list map's own refinement is the API server's check of duplicate keys.
  const builtIn = converted['x-kubernetes-list-type'] === 'map' ? 1 : 0
  if (refinements > twins + builtIn) lost.push(`${path}: a refinement has no CEL twin; use withRules`)

  if (schema instanceof z.ZodObject) {
    for (const [name, field] of Object.entries<z.ZodType>(schema.shape)) {
      lost.push(...losses(field, converted.properties?.[name] ?? {}, `${path}.${name}`))
    }
  }
  if (schema instanceof z.ZodArray) {
    lost.push(...losses(schema.element as z.ZodType, converted.items ?? {}, `${path}[]`))
  }
  return lost
}

const KEY_ORDER = ['description', 'type', 'format', 'default', 'enum']
const KEYS_LAST = ['items', 'properties', 'required']

/** A copy as it stands in a CRD: without `form`, keys in a steady order. */
export function forCrd(schema: Schema): Schema {
  const { form: _, items, properties, ...own } = schema
  const copy: Schema = {
    ...own,
    ...(items && { items: forCrd(items) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, forCrd(field)])),
    }),
  }
  const place = (key: string) => {
    if (KEY_ORDER.includes(key)) return KEY_ORDER.indexOf(key)
    if (KEYS_LAST.includes(key)) return 100 + KEYS_LAST.indexOf(key)
    return key.startsWith('x-') ? 50 : 20
  }
  return Object.fromEntries(Object.entries(copy).sort(([a], [b]) => place(a) - place(b)))
}
