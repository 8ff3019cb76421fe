import type { CustomResourceDefinition } from './crd.ts'
import type { Schema } from './json-schema.ts'
import { GATEWAY_IMMUTABLE } from './primitives.ts'

/** Keys that a structural schema of ours may carry; `$ref`, `allOf`, `anyOf`, `additionalProperties` and more are not among them. */
const KEYS = new Set([
  'description',
  'type',
  'format',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'items',
  'properties',
  'required',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-validations',
])

const TYPES = ['object', 'array', 'string', 'integer', 'boolean']

/** Constructs that Go's RE2 refuses or reads differently from JavaScript. */
const NOT_RE2: [RegExp, string][] = [
  [/\(\?/, 'a look-around, a flag or a named group'],
  [/\\[1-9]/, 'a back-reference'],
  [/\\[sSbBwWuckx]/, 'an escape that RE2 reads differently'],
  [/\{(?:\d+,)?(?:[1-9]\d{3,})\}/, 'more than 1000 repetitions'],
]

/** Fields with these names are reached as `self.__name__`. */
const RESERVED =
  /\.(as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void|while)\b/

/**
 * Everything in a generated CRD that an API server would refuse, or that would hurt later, one sentence each: see each
 * check for its reason. Empty when all is well.
 */
export function lintCrd(crd: CustomResourceDefinition): string[] {
  const problems: string[] = []
  for (const version of crd.spec.versions) {
    const root = version.schema.openAPIV3Schema
    lintNode(root, '', { underSpec: false }, problems)
    // The API server has its own schema of metadata and refuses any other.
    if (JSON.stringify(root.properties?.metadata) !== '{"type":"object"}')
      problems.push('metadata: must be a bare object')
    const spec = root.properties?.spec
    if (!spec || !root.required?.includes('spec')) problems.push('spec: must exist and be required')
    // Without it an object could move to another fleet under live streams.
    if (!spec?.['x-kubernetes-validations']?.some(({ rule }) => rule === GATEWAY_IMMUTABLE.rule)) {
      problems.push('spec: the rule that gateway cannot be changed is missing')
    }
  }
  return problems
}

function lintNode(schema: Schema, path: string, { underSpec }: { underSpec: boolean }, problems: string[]): void {
  const report = (message: string) => problems.push(`${path || '(root)'}: ${message}`)

  for (const key of Object.keys(schema)) if (!KEYS.has(key)) report(`${key} is not allowed in a structural schema`)
  if (!schema.type) report('has no type')
  // Other numbers lose digits on the way; prices are strings.
  else if (!TYPES.includes(schema.type)) report(`type ${schema.type} is not used`)
  if (!schema.description) report('has no description')
  for (const name of schema.required ?? []) {
    if (!schema.properties?.[name]) report(`requires ${name}, which it does not have`)
  }
  // GitOps tools would see drift, and a later default would not reach objects that exist.
  if (underSpec && 'default' in schema) report('has a default; defaults live in crds/defaults.ts')
  if (schema.pattern !== undefined) lintPattern(schema.pattern, report)
  if (schema.type === 'array') lintList(schema, report)
  if (underSpec) lintBounds(schema, report)

  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const child = path ? `${path}.${name}` : name
    if (child === 'metadata') continue
    lintNode(field, child, { underSpec: underSpec || child === 'spec' }, problems)
  }
  if (schema.items) lintNode(schema.items, `${path}[]`, { underSpec }, problems)
}

function lintPattern(pattern: string, report: (message: string) => void): void {
  for (const [construct, name] of NOT_RE2) if (construct.test(pattern)) report(`its pattern has ${name}`)
  // An unanchored pattern accepts anything around what it describes.
  if (!pattern.startsWith('^') || !pattern.endsWith('$')) report('its pattern is not anchored')
}

function lintList(schema: Schema, report: (message: string) => void): void {
  if (!schema.items) report('has no items')
  const type = schema['x-kubernetes-list-type']
  if (!type) report('has no x-kubernetes-list-type')
  if (type === 'map') {
    const keys = schema['x-kubernetes-list-map-keys'] ?? []
    if (keys.length === 0) report('is a list map without keys')
    for (const key of keys) if (!schema.items?.required?.includes(key)) report(`its key ${key} is not required`)
  }
}

/** Every spec is under a CEL rule, so every size under it must be bounded or the cost budget refuses the CRD. */
function lintBounds(schema: Schema, report: (message: string) => void): void {
  if (schema.type === 'string' && schema.maxLength === undefined && !schema.enum) report('has no maxLength')
  if (schema.type === 'array' && schema.maxItems === undefined) report('has no maxItems')
  if (schema.type === 'object' && !schema.properties) report('has no properties')
  if (schema.type === 'integer') {
    const { minimum, maximum } = schema
    // zod's own bounds are the sign of a missing one.
    if (minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER) report('has no minimum')
    if (maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER) report('has no maximum')
  }
  for (const { rule, message } of schema['x-kubernetes-validations'] ?? []) {
    if (RESERVED.test(rule)) report(`the rule ${rule} uses a reserved word of CEL; write it with __ on both sides`)
    if (!message || message.includes('\n')) report(`the rule ${rule} needs a message of one line`)
  }
}
