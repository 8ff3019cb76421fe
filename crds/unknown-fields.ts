import { z } from 'zod'
import type { Path } from './path.ts'
import { isObject } from './problem.ts'
import { nearest } from './spelling.ts'

export interface UnknownField {
  path: Path
  /** The field of the same object that was probably meant. */
  suggestion?: string
}

/**
 * Every field of `value` that the schema does not know. The schemas stay plain objects, since a strict one emits
 * `additionalProperties`, which a CRD may not have beside `properties`; files are held to them by this walk. Values of
 * a wrong type are left to the schema itself.
 */
export function unknownFields(schema: z.ZodType, value: unknown, path: Path = []): UnknownField[] {
  const inner = unwrap(schema)
  if (inner instanceof z.ZodObject && isObject(value)) {
    const shape: Record<string, z.ZodType> = inner.shape
    return Object.keys(value).flatMap(key => {
      if (Object.hasOwn(shape, key)) return unknownFields(shape[key]!, value[key], [...path, key])
      const suggestion = nearest(
        key,
        Object.keys(shape).filter(name => !Object.hasOwn(value, name)),
      )
      return [{ path: [...path, key], ...(suggestion && { suggestion }) }]
    })
  }
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    const element = inner.element as z.ZodType
    return value.flatMap((item, index) => unknownFields(element, item, [...path, index]))
  }
  return []
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap() as z.ZodType) : schema
}
