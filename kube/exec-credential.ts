import { execFile } from 'node:child_process'
import type { Credentials } from './access.ts'

/** The `exec` entry of a kubeconfig user. */
export interface ExecEntry {
  apiVersion: string
  command: string
  args: string[]
  env: Record<string, string>
  installHint?: string
  /** What `KUBERNETES_EXEC_INFO` says of the cluster; absent unless `provideClusterInfo` is set. */
  cluster?: Record<string, unknown>
}

interface ExecCredential {
  kind?: string
  status?: {
    token?: string
    clientCertificateData?: string
    clientKeyData?: string
    expirationTimestamp?: string
  }
}

/** A token is replaced so many milliseconds before it expires. */
const EARLY_MS = 30_000
const TIMEOUT_MS = 60_000

/** Credentials from a program, as clouds use them. It is run once until they expire or are refused. */
export class ExecCredentials {
  readonly #entry: ExecEntry
  #current: Promise<Credentials> | undefined
  #expiresAt = Number.POSITIVE_INFINITY

  constructor(entry: ExecEntry) {
    this.#entry = entry
  }

  get(): Promise<Credentials> {
    if (Date.now() >= this.#expiresAt - EARLY_MS) this.invalidate()
    if (this.#current === undefined) {
      const started = this.#run()
      this.#current = started
      started.catch(() => {
        if (this.#current === started) this.#current = undefined
      })
    }
    return this.#current
  }

  invalidate(): void {
    this.#current = undefined
    this.#expiresAt = Number.POSITIVE_INFINITY
  }

  async #run(): Promise<Credentials> {
    const { command } = this.#entry
    const credential = parse(command, await this.#output())
    const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = credential.status ?? {}
    if (token === undefined && (cert === undefined || key === undefined)) {
      throw new Error(`${command} gave neither a token nor a client certificate with its key`)
    }
    if (expirationTimestamp !== undefined) this.#expiresAt = Date.parse(expirationTimestamp)
    return { ...(token !== undefined && { token }), ...(cert !== undefined && { cert, key }) }
  }

  #output(): Promise<string> {
    const { apiVersion, command, args, env, installHint, cluster } = this.#entry
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false, ...(cluster && { cluster }) } }
    const options = {
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeout: TIMEOUT_MS,
      maxBuffer: 1 << 20,
    }
    return new Promise((resolve, reject) => {
      execFile(command, args, options, (error, stdout, stderr) => {
        if (!error) return resolve(stdout)
        // Not `error.message`: it repeats the arguments. Not stdout: it may hold a token.
        const missing = 'code' in error && error.code === 'ENOENT'
        const why = missing ? 'is not installed' : `failed: ${stderr.trim().slice(0, 500) || `code ${error.code}`}`
        reject(
          new Error(`the kubeconfig's credential program ${command} ${why}${installHint ? `\n${installHint}` : ''}`),
        )
      }).stdin?.end()
    })
  }
}

function parse(command: string, output: string): ExecCredential {
  let parsed: ExecCredential | null | undefined
  try {
    parsed = JSON.parse(output) as ExecCredential | null
  } catch {
    parsed = undefined
  }
  if (parsed?.kind !== 'ExecCredential') throw new Error(`${command} did not print an ExecCredential`)
  return parsed
}
