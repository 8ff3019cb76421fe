import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../kit/program.ts'
import { backendYaml, policyYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from '../kit/resources.ts'
import { Child } from './child.ts'
import type { Peer } from './peer.ts'
import { API_KEY, MODEL } from './traffic.ts'

const LISTENING = /^listening on (http:\/\/\S+) \(admin (http:\/\/\S+)\)$/m

export interface GatewayOptions {
  core?: string
  /** Folder for a CPU profile, written when it stops. */
  profile?: string
  /** Added to the files of `gatewayFiles`, by name. */
  files?: Readonly<Record<string, string>>
}

/** The gateway as a person runs it: `weir run -f FOLDER`, the access log in a file. */
export class GatewayPeer implements Peer {
  readonly name = 'gateway'
  readonly url: string
  readonly adminUrl: string
  readonly child: Child
  readonly #folder: string

  private constructor(child: Child, folder: string, url: string, adminUrl: string) {
    this.child = child
    this.#folder = folder
    this.url = url
    this.adminUrl = adminUrl
  }

  static async start(upstream: string, { core, profile, files = {} }: GatewayOptions = {}): Promise<GatewayPeer> {
    const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'))
    let child: Child | undefined
    try {
      for (const [name, text] of Object.entries({ ...gatewayFiles(upstream), ...files })) {
        await writeFile(join(folder, name), text)
      }
      const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
      const args = ['run', '-f', folder, '--port', '0', '--admin-port', '0']
      const stdout = join(folder, 'access.log')
      child = new Child(process.execPath, [...flags, `${ROOT}cli/weir.ts`, ...args], { stdout, core })
      const [, url, adminUrl] = await child.says(LISTENING)
      return new GatewayPeer(child, folder, url!, adminUrl!)
    } catch (error) {
      await child?.stop()
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  get pid(): number {
    return this.child.pid
  }

  /** Puts a file into the watched folder by a rename; returns when that began (ms, monotonic). */
  async edit(name: string, text: string): Promise<number> {
    const draft = join(this.#folder, `.${name}.draft`)
    await writeFile(draft, text)
    const begun = performance.now()
    await rename(draft, join(this.#folder, name))
    return begun
  }

  async stop(): Promise<void> {
    await this.child.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** One tenant with a key, one route, one backend with a credential, one limit that is counted and never reached. */
function gatewayFiles(upstream: string): Record<string, string> {
  return {
    'tenant.yaml': yamlFile(
      secretYaml({ name: 'bench-key', value: API_KEY }),
      tenantYaml({ name: 'bench', secrets: ['bench-key'] }),
    ),
    'backend.yaml': yamlFile(
      secretYaml({ name: 'upstream-key', value: 'sk-upstream' }),
      backendYaml({ name: 'upstream', url: `${upstream}/v1`, secret: 'upstream-key', concurrency: { max: 1000 } }),
    ),
    'route.yaml': routeYaml({ name: 'chat', models: [MODEL], backends: ['upstream'] }),
    'policy.yaml': policyYaml({
      name: 'counted',
      targetRefs: [{ kind: 'LLMRoute', name: 'chat' }],
      limits: [{ name: 'rpm', by: [{ type: 'Tenant' }], requests: 1_000_000_000, per: '1m' }],
    }),
  }
}
