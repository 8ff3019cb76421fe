import { dirname, resolve } from 'node:path'

/** A parsed kubeconfig: nothing about it is known yet. */
export interface Kubeconfig {
  'current-context'?: unknown
  clusters?: unknown
  users?: unknown
  contexts?: unknown
}

export interface Context {
  cluster: string
  user?: string
  namespace?: string
}

export interface MergedKubeconfig {
  currentContext: string | undefined
  clusters: Named[]
  users: Named[]
  contexts: Named[]
  /** The files, for messages. */
  files: string
}

interface Named {
  name: string
  value: unknown
  file: string
}

/** One file after the other; what comes first wins, as with kubectl. */
export function merge(configs: readonly Kubeconfig[], paths: readonly string[]): MergedKubeconfig {
  const all = (list: 'clusters' | 'users' | 'contexts', field: string) =>
    configs.flatMap((config, i) => named(config[list], list, field, paths[i]!))
  return {
    currentContext: configs.map(config => config['current-context']).find(isText),
    clusters: all('clusters', 'cluster'),
    users: all('users', 'user'),
    contexts: all('contexts', 'context'),
    files: paths.join(', '),
  }
}

function named(list: unknown, listName: string, field: string, file: string): Named[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw new Error(`${file}: ${listName} must be a list`)
  return list.map((item: Record<string, unknown> | null, i) => {
    if (!isText(item?.name)) throw new Error(`${file}: ${listName}[${i}] has no name`)
    return { name: item.name, value: item[field] ?? {}, file }
  })
}

/** The entry of that name. */
export function entryOf(list: readonly Named[], what: string, name: string): Entry {
  const found = list.find(each => each.name === name)
  if (!found) throw new Error(`the kubeconfig has no ${what} named ${name}; kubectl config view shows what it has`)
  return new Entry(found.value, `${what} ${name}`, found.file)
}

/** Reads the fields of one cluster, user or context; each error names the file and the field. */
export class Entry {
  readonly #fields: Record<string, unknown>
  readonly #what: string
  readonly #file: string

  constructor(value: unknown, what: string, file: string) {
    if (typeof value !== 'object' || value === null) throw new Error(`${file}: ${what} must be an object`)
    this.#fields = value as Record<string, unknown>
    this.#what = what
    this.#file = file
  }

  /** Never with the value: it may be a secret. */
  problem(field: string, message: string): Error {
    return new Error(`${this.#file}: ${this.#what}: ${field} ${message}`)
  }

  has(field: string): boolean {
    const value = this.#fields[field]
    return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
  }

  /** Undefined where absent or empty. */
  text(field: string): string | undefined {
    if (!this.has(field)) return undefined
    const value = this.#fields[field]
    if (typeof value !== 'string') throw this.problem(field, 'must be a string')
    return value
  }

  required(field: string): string {
    const text = this.text(field)
    if (text === undefined) throw this.problem(field, 'is required')
    return text
  }

  flag(field: string): boolean {
    if (!this.has(field)) return false
    const value = this.#fields[field]
    if (typeof value !== 'boolean') throw this.problem(field, 'must be true or false')
    return value
  }

  /** A path, relative to the kubeconfig's folder. */
  path(field: string): string | undefined {
    const text = this.text(field)
    return text === undefined ? undefined : resolve(dirname(this.#file), text)
  }

  texts(field: string): string[] {
    if (!this.has(field)) return []
    const value = this.#fields[field]
    if (!Array.isArray(value) || !value.every(isString)) throw this.problem(field, 'must be a list of strings')
    return value
  }

  /** A list of `{name, value}`. */
  pairs(field: string): Record<string, string> {
    if (!this.has(field)) return {}
    const value = this.#fields[field]
    if (!Array.isArray(value)) throw this.problem(field, 'must be a list')
    return Object.fromEntries(
      value.map((pair: Record<string, unknown> | null) => {
        if (!isText(pair?.name) || !isString(pair.value)) throw this.problem(field, 'must be a list of name and value')
        return [pair.name, pair.value]
      }),
    )
  }

  nested(field: string): Entry | undefined {
    return this.has(field) ? new Entry(this.#fields[field], `${this.#what}: ${field}`, this.#file) : undefined
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}
