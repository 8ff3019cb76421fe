import type { z } from 'zod'

/**
 * A rule across fields, kept as twins: `cel` is what the API server evaluates, `holds` what zod evaluates. Both must
 * say the same; the pair stands together so that neither can be forgotten.
 */
export interface Rule<T> {
  cel: string
  message: string
  holds(value: T): boolean
  /** Where the error is shown, below the value the rule is on. */
  path?: string[]
}

/** Attaches rules to a schema: as refinements for zod, as `x-kubernetes-validations` for the CRD. */
export function withRules<S extends z.ZodType>(schema: S, rules: Rule<z.output<S>>[]): S {
  const refined = rules.reduce<S>(
    (s, rule) =>
      s.superRefine((value, context) => {
        // A copy: zod puts the way to the value in front of the very array it is given.
        if (!rule.holds(value))
          context.addIssue({ code: 'custom', message: rule.message, path: [...(rule.path ?? [])] })
      }),
    schema,
  )
  return refined.meta({
    ...schema.meta(),
    'x-kubernetes-validations': [...inherited(schema), ...rules.map(toValidation)],
  }) as S
}

function inherited(schema: z.ZodType): unknown[] {
  const validations = schema.meta()?.['x-kubernetes-validations']
  return Array.isArray(validations) ? validations : []
}

function toValidation({ cel, message, path = [] }: Rule<never>) {
  // `fieldPath` cannot go through lists; our paths never do.
  const fieldPath = path.map(key => `.${key}`).join('')
  return { rule: cel, message, ...(fieldPath && { fieldPath }) }
}

/** A list whose items are identified by `name`: server-side apply merges by it, duplicates are refused. */
export function mapByName<S extends z.ZodArray<z.ZodType<{ name: string }>>>(list: S): S {
  // The API server refuses duplicate keys of a list map by itself; zod needs to be told.
  const refined = list.superRefine((items, context) => {
    const seen = new Set<string>()
    items.forEach((item, index) => {
      if (seen.has(item.name)) {
        context.addIssue({
          code: 'custom',
          message: `must be unique, but ${JSON.stringify(item.name)} stands twice`,
          path: [index, 'name'],
        })
      }
      seen.add(item.name)
    })
  })
  return refined.meta({
    ...list.meta(),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
  }) as S
}

/** A list that is replaced as a whole by server-side apply. */
export function atomic<S extends z.ZodType>(list: S): S {
  return list.meta({ ...list.meta(), 'x-kubernetes-list-type': 'atomic' }) as S
}
