import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClusterAccess } from '../../kube/access.ts'
import { type ClientOptions, KubeClient } from '../../kube/http.ts'

/** What it takes to use a running control plane from any process. Plain JSON. */
export interface ClusterAddress {
  folder: string
  url: string
  /** Of the user `admin`, who may do everything. */
  token: string
  caFile: string
  kubectl: string
}

/** A running API server as a test sees it. */
export class Cluster {
  readonly folder: string
  readonly url: string
  readonly token: string
  readonly caFile: string
  /** The file of the user `admin`. */
  readonly kubeconfig: string
  readonly address: ClusterAddress

  constructor(address: ClusterAddress) {
    this.address = address
    this.folder = address.folder
    this.url = address.url
    this.token = address.token
    this.caFile = address.caFile
    this.kubeconfig = this.#kubeconfigPath('admin')
  }

  /** As the user of `token`, `admin` unless said; at another URL where a proxy stands in between. */
  access({ token = this.token, url = this.url }: { token?: string; url?: string } = {}): ClusterAccess {
    const ca = url.startsWith('https:') ? { ca: readFileSync(this.caFile) } : {}
    return {
      server: new URL(url),
      namespace: 'default',
      credentials: async () => ({ token }),
      trust: async () => ({ ...ca, insecure: false }),
      invalidate: () => {},
    }
  }

  /** The caller closes it. */
  client(who: { token?: string; url?: string } = {}, options: ClientOptions = {}): KubeClient {
    return new KubeClient(this.access(who), options)
  }

  /** A new namespace of that test's own. It goes with the cluster. */
  async createNamespace(): Promise<string> {
    const name = `t-${randomBytes(4).toString('hex')}`
    const client = this.client()
    try {
      await client.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    } finally {
      await client.close()
    }
    return name
  }

  /** Writes a kubeconfig for the user of `token` and returns its path. */
  async writeKubeconfig(user: string, token: string, { url = this.url, namespace = 'default' } = {}): Promise<string> {
    const path = this.#kubeconfigPath(user)
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority': this.caFile } }],
      users: [{ name: user, user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user, namespace } }],
    }
    await writeFile(path, JSON.stringify(config, null, 2), { mode: 0o600 })
    return path
  }

  /** Standard output; throws with standard error when it fails. As `admin` unless `kubeconfig` is given. */
  kubectl(args: string[], { input = '', kubeconfig = this.kubeconfig } = {}): Promise<string> {
    // Its discovery cache would outlive the cluster, and a later one may have the same port.
    const options = { env: { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: join(this.folder, 'kubectl') } }
    return new Promise((resolve, reject) => {
      const child = execFile(
        this.address.kubectl,
        args,
        { ...options, maxBuffer: 64 << 20 },
        (error, stdout, stderr) => {
          if (error) reject(new Error(`kubectl ${args.join(' ')}: ${stderr.trim() || error.message}`))
          else resolve(stdout)
        },
      )
      child.stdin?.on('error', () => {})
      child.stdin?.end(input)
    })
  }

  #kubeconfigPath(user: string): string {
    return join(this.folder, `${user}.kubeconfig`)
  }
}
