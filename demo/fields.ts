/** A request that cannot be answered; each dialect gives it its own shape. */
export class Refusal extends Error {
  readonly status: number
  /** Stable code in the notation of the OpenAI API, or null. */
  readonly code: string | null
  /** The field at fault, or null. */
  readonly param: string | null

  constructor(
    status: number,
    message: string,
    { code = null, param = null }: { code?: string | null; param?: string | null } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
  }
}

export type Fields = { readonly [name: string]: unknown }

function bad(param: string, must: string): Refusal {
  return new Refusal(400, `${param}: ${must}`, { param })
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The body as an object. Refuses with 400 what is no JSON, or is not an object. */
export function parseFields(body: Buffer): Fields {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new Refusal(400, 'The body is not valid JSON. Send a JSON object in UTF-8.', { code: 'invalid_json' })
  }
  if (!isFields(value)) throw new Refusal(400, 'The body must be a JSON object.', { code: 'invalid_json' })
  return value
}

/** A string that must be there and not be empty. */
export function text(fields: Fields, name: string): string {
  const value = fields[name]
  if (value === undefined) throw bad(name, 'this field is required')
  if (typeof value !== 'string' || value === '') throw bad(name, 'must be a string that is not empty')
  return value
}

/** A boolean; false where absent or null. */
export function flag(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false
  if (typeof value !== 'boolean') throw bad(name, 'must be true or false')
  return value
}

/** A whole number within bounds; undefined where absent or null. */
export function whole(fields: Fields, name: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw bad(
      name,
      `must be a whole number${max < Number.MAX_SAFE_INTEGER ? ` from ${min} to ${max}` : `, at least ${min}`}`,
    )
  }
  return value
}

/** An object; undefined where absent or null. */
export function object(fields: Fields, name: string): Fields | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (!isFields(value)) throw bad(name, 'must be an object')
  return value
}

/** Strings, none of them empty: a list, or a single one where `single` allows it; none where absent or null. */
export function texts(fields: Fields, name: string, { max, single }: { max: number; single: boolean }): string[] {
  const value = fields[name]
  if (value === undefined || value === null) return []
  const list: unknown[] = single && typeof value === 'string' ? [value] : Array.isArray(value) ? value : [null]
  if (list.length > max) throw bad(name, `must have at most ${max} entries`)
  const strings = list.filter(item => typeof item === 'string' && item !== '') as string[]
  if (strings.length < list.length) {
    throw bad(name, `must be ${single ? 'a string or ' : ''}a list of strings that are not empty`)
  }
  return strings
}

/** The text of a message's or system prompt's content: a string, or a list of parts of which the text parts count. */
export function contentText(content: unknown, where: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw bad(where, 'must be a string or a list of parts')
  const parts = content.map((part: unknown, i) => {
    if (!isFields(part) || typeof part.type !== 'string') throw bad(`${where}[${i}]`, 'must be an object with a type')
    if (part.type !== 'text') return ''
    if (typeof part.text !== 'string') throw bad(`${where}[${i}].text`, 'must be a string')
    return part.text
  })
  return parts.filter(part => part !== '').join('\n')
}

export interface Turn {
  role: string
  text: string
}

/** The conversation: at least one message, each with one of `roles`. `silent` roles may come without content. */
export function turns(fields: Fields, roles: readonly string[], silent: readonly string[]): Turn[] {
  const value = fields.messages
  if (value === undefined) throw bad('messages', 'this field is required')
  if (!Array.isArray(value) || value.length === 0) throw bad('messages', 'must be a list of at least one message')
  return value.map((message: unknown, i) => {
    const where = `messages[${i}]`
    if (!isFields(message)) throw bad(where, 'must be an object')
    const { role, content } = message
    if (typeof role !== 'string' || !roles.includes(role))
      throw bad(`${where}.role`, `must be one of ${roles.join(', ')}`)
    if ((content === null || content === undefined) && silent.includes(role)) return { role, text: '' }
    return { role, text: contentText(content, `${where}.content`) }
  })
}

/** What the user wrote last; empty where there is nothing from the user. */
export function question(conversation: readonly Turn[]): string {
  return conversation.findLast(turn => turn.role === 'user')?.text ?? ''
}

/** Refuses what the demo model cannot do, rather than to ignore it. */
export function unable(param: string, what: string): Refusal {
  return bad(param, `the demo model ${what}`)
}
