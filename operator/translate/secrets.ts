import { hash } from 'node:crypto'
import { CREDENTIALS_LABEL } from '../../crds/group.ts'
import type { Secret, VerdictProblem } from './types.ts'

/** One key of a Secret in the namespace of the object that refers to it. */
export interface SecretKeyRef {
  name: string
  key: string
}

export type Resolved = { value: string; problem?: undefined } | { value?: undefined; problem: VerdictProblem }

/** A key goes into a header; what no header carries would fail at each request. */
const HEADER_TOKEN = /^[!-~]+$/

export function sha256(value: string): string {
  return hash('sha256', value, 'hex')
}

/** The labelled Secrets of all namespaces. */
export class Secrets {
  readonly #byName = new Map<string, Secret>()
  /** Hashes of every value, by namespace; built when first asked for. */
  readonly #hashes = new Map<string, Set<string>>()

  constructor(secrets: readonly Secret[]) {
    for (const secret of secrets) this.#byName.set(`${secret.namespace}/${secret.name}`, secret)
  }

  /** The value without the white space around it: files and `echo` end in a newline that is no part of a key. */
  resolve(namespace: string, { name, key }: SecretKeyRef): Resolved {
    const called = `Secret ${namespace}/${name}`
    const label = `\`kubectl label secret ${name} -n ${namespace} ${CREDENTIALS_LABEL}=true\``
    const secret = this.#byName.get(`${namespace}/${name}`)
    if (!secret) {
      return failed(
        'SecretNotFound',
        `${called} (key ${key}) was not found; create it, or if it exists label it: ${label}`,
      )
    }
    if (!secret.labelled) {
      return failed('SecretNotFound', `${called} (key ${key}) is not read without its label; run: ${label}`)
    }
    if (!Object.hasOwn(secret.data, key)) {
      return failed('SecretNotFound', `${called} has no key ${key}; add it, or correct the reference`)
    }
    const value = secret.data[key]!.trim()
    if (value === '') return failed('InvalidValue', `key ${key} of ${called} is empty; give it a value`)
    if (!HEADER_TOKEN.test(value)) {
      return failed('InvalidValue', `key ${key} of ${called} has spaces or characters other than visible ASCII`)
    }
    return { value }
  }

  /** Whether a labelled Secret of the namespace still has the value with this hash, under whatever key. */
  holds(namespace: string, hashed: string): boolean {
    let hashes = this.#hashes.get(namespace)
    if (!hashes) {
      const mine = [...this.#byName.values()].filter(secret => secret.labelled && secret.namespace === namespace)
      hashes = new Set(mine.flatMap(secret => Object.values(secret.data).map(value => sha256(value.trim()))))
      this.#hashes.set(namespace, hashes)
    }
    return hashes.has(hashed)
  }
}

function failed(reason: string, message: string): Resolved {
  return { problem: { reason, message } }
}
