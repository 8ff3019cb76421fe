import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeClient } from '../../kube/http.ts'
import { type Binaries, requireBinaries } from './binaries.ts'
import { Cluster } from './cluster.ts'
import { freePort } from './ports.ts'
import { ServerProcess } from './server-process.ts'

export interface ControlPlaneOptions {
  /** The address that API server and etcd listen on. Default 127.0.0.1. */
  host?: string
  /** Further flags of the API server. */
  flags?: string[]
}

/** Enough for namespaces, garbage collection, EndpointSlices, rollouts and default ServiceAccounts. */
const CONTROLLERS = [
  'namespace-controller',
  'garbage-collector-controller',
  'endpointslice-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'deployment-controller',
  'replicaset-controller',
]

/** A loaded machine takes 12 s for three at once. */
const READY_MS = 60_000

/**
 * etcd, kube-apiserver and, on demand, kube-controller-manager: real ones, in a temporary folder, on ports of their own.
 * Who starts it stops it; should that process die, the servers end with it.
 */
export class ControlPlane {
  readonly cluster: Cluster
  readonly #binaries: Binaries
  readonly #host: string
  readonly #flags: string[]
  readonly #ports: { etcd: number; apiserver: number }
  #etcd: ServerProcess | undefined
  #apiserver: ServerProcess | undefined
  #controllerManager: ServerProcess | undefined

  /** Ready when this returns, in 3 to 5 seconds. */
  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const binaries = requireBinaries()
    const host = options.host ?? '127.0.0.1'
    const folder = await mkdtemp(join(tmpdir(), 'weir-cluster-'))
    const ports = { etcd: await freePort(host), apiserver: await freePort(host) }
    const plane = new ControlPlane(binaries, folder, ports, host, options.flags ?? [])
    try {
      await plane.#writeFiles()
      await Promise.all([plane.#startEtcd(), plane.startApiServer()])
    } catch (error) {
      await plane.stop()
      throw error
    }
    return plane
  }

  private constructor(
    binaries: Binaries,
    folder: string,
    ports: { etcd: number; apiserver: number },
    host: string,
    flags: string[],
  ) {
    this.#binaries = binaries
    this.#host = host
    this.#flags = flags
    this.#ports = ports
    this.cluster = new Cluster({
      folder,
      url: `https://${host}:${ports.apiserver}`,
      token: randomBytes(16).toString('hex'),
      // The API server makes its serving certificate itself; the file holds the chain, so it is the CA file as well.
      caFile: join(folder, 'pki/apiserver.crt'),
      kubectl: binaries.kubectl,
    })
  }

  async #writeFiles(): Promise<void> {
    const { folder, token } = this.cluster
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'prime256v1',
      privateKeyEncoding: { type: 'sec1', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    await Promise.all([
      writeFile(join(folder, 'sa.key'), privateKey, { mode: 0o600 }),
      writeFile(join(folder, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 }),
      this.cluster.writeKubeconfig('admin', token),
    ])
  }

  async #startEtcd(): Promise<void> {
    const client = `http://${this.#host}:${this.#ports.etcd}`
    this.#etcd = this.#run('etcd', [
      `--data-dir=${join(this.cluster.folder, 'etcd')}`,
      '--unsafe-no-fsync',
      '--log-level=error',
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=http://${this.#host}:0`,
    ])
  }

  /** Starts it, or starts it again after `stopApiServer` with the same address and objects. */
  async startApiServer(): Promise<void> {
    const { folder } = this.cluster
    const key = join(folder, 'sa.key')
    this.#apiserver = this.#run('kube-apiserver', [
      `--etcd-servers=http://${this.#host}:${this.#ports.etcd}`,
      `--bind-address=${this.#host}`,
      `--secure-port=${this.#ports.apiserver}`,
      `--cert-dir=${join(folder, 'pki')}`,
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--allow-privileged',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      // A loopback address may not stand in the endpoints of the service `kubernetes`.
      '--endpoint-reconciler-type=none',
      // Pods could not be created while no controller makes ServiceAccounts.
      '--disable-admission-plugins=ServiceAccount',
      ...this.#flags,
    ])
    await this.#apiserver.until(() => this.#isReady(), READY_MS)
  }

  async stopApiServer(): Promise<void> {
    await this.#apiserver?.kill()
  }

  /** Does nothing when it runs already. */
  async startControllerManager(): Promise<void> {
    const { folder, caFile, kubeconfig } = this.cluster
    this.#controllerManager ??= this.#run('kube-controller-manager', [
      `--kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      // No listener of its own.
      '--secure-port=0',
      `--service-account-private-key-file=${join(folder, 'sa.key')}`,
      `--root-ca-file=${caFile}`,
      `--controllers=${CONTROLLERS}`,
    ])
  }

  /** Ends the servers and removes the folder. */
  async stop(): Promise<void> {
    const servers = [this.#controllerManager, this.#apiserver, this.#etcd]
    await Promise.all(servers.map(server => server?.kill()))
    await rm(this.cluster.folder, { recursive: true, force: true })
  }

  #run(program: keyof Binaries, args: string[]): ServerProcess {
    return new ServerProcess(program, this.#binaries[program], args, join(this.cluster.folder, `${program}.log`))
  }

  async #isReady(): Promise<boolean> {
    if (!existsSync(this.cluster.caFile)) return false
    const client = new KubeClient(this.cluster.access())
    try {
      return (await client.request('GET', '/readyz', undefined, { timeoutMs: 2000 })) === 'ok'
    } catch {
      return false
    } finally {
      await client.close()
    }
  }
}
