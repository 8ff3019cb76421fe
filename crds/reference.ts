import { API_VERSION } from './group.ts'
import { type Schema, specSchema } from './json-schema.ts'
import { KINDS, type Kind, type KindName } from './kinds.ts'

interface Row {
  field: string
  type: string
  value: string
  description: string
  bounds: string
}

/** The reference page of a kind, in Markdown, from its zod schema. */
export function referencePage(name: KindName): string {
  const kind: Kind = KINDS[name]
  const rows = rowsOf(specSchema(name), 'spec')
  const table = rows.map(
    row => `| ${[row.field, row.type, row.value, row.description, row.bounds].map(cell).join(' | ')} |`,
  )
  return [
    '<!-- Written by `npm run generate` from the schemas in crds/; do not edit. -->',
    '',
    `# ${name}`,
    '',
    kind.description,
    '',
    `\`apiVersion: ${API_VERSION}\`, \`kind: ${name}\`, namespaced. With kubectl: \`kubectl get ${kind.plural}\`, ` +
      `\`kubectl get ${kind.shortName}\`, or \`kubectl get weir\` for all kinds.`,
    '',
    '| Field | Type | Default | Description | Bounds |',
    '|---|---|---|---|---|',
    ...table,
    '',
  ].join('\n')
}

function rowsOf(parent: Schema, path: string): Row[] {
  return Object.entries(parent.properties ?? {}).flatMap(([name, field]) => {
    const here = `${path}.${name}`
    const [description, absent] = splitDefault(field.description ?? '')
    const rules = (parent['x-kubernetes-validations'] ?? []).filter(rule => rule.fieldPath === `.${name}`)
    const row: Row = {
      field: `\`${here}\``,
      type: typeText(field),
      value: parent.required?.includes(name) ? 'required' : absent,
      description,
      bounds: [...boundsOf(field), ...rules.map(rule => rule.message)].join('; '),
    }
    const inner = field.items ? rowsOf(field.items, `${here}[]`) : rowsOf(field, here)
    return [row, ...inner]
  })
}

/** The last sentence of a description may say what an absent field means: that is the field's default. */
function splitDefault(description: string): [text: string, absent: string] {
  const found = /^(.*) Absent means (.*)\.$/s.exec(description)
  return found ? [found[1]!, found[2]!] : [description, 'none']
}

function typeText(schema: Schema): string {
  if (schema.type !== 'array') return schema.type ?? ''
  const item = schema.items?.type ?? ''
  return `list of ${item}s`
}

function boundsOf(schema: Schema): string[] {
  const own = schema['x-kubernetes-validations']?.filter(rule => !rule.fieldPath).map(rule => rule.message) ?? []
  if (schema.enum) return [schema.enum.join(', '), ...own]
  if (schema.type === 'integer') return [range(schema.minimum, schema.maximum, ''), ...own]
  if (schema.type === 'string') {
    const length = range(schema.minLength, schema.maxLength, ' characters')
    return [...(schema.form ? [schema.form] : []), ...(length ? [length] : []), ...own]
  }
  if (schema.type === 'array') {
    const items = schema.items?.type === 'object' ? [] : boundsOf(schema.items ?? {})
    return [range(schema.minItems, schema.maxItems, ' items'), ...items.map(text => `each: ${text}`), ...own]
  }
  return own
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return ''
  if (least === undefined) return `at most ${most}${unit}`
  if (most === undefined) return `at least ${least}${unit}`
  return `${least} to ${most}${unit}`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
