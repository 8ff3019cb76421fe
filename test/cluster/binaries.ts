import { spawnSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export const PROGRAMS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const

export type Program = (typeof PROGRAMS)[number]

/** Where each program of the control plane is. */
export type Binaries = Record<Program, string>

/** The Kubernetes version that the tests run against: the one that is built, as `1.35.4`. */
export function kubernetesVersion(): string {
  const mod = readFileSync(join(import.meta.dirname, 'mod/k8s/go.mod'), 'utf8')
  const version = /^\s*k8s\.io\/kubernetes v(\S+)/m.exec(mod)?.[1]
  if (!version) throw new Error('test/cluster/mod/k8s/go.mod requires no k8s.io/kubernetes')
  return version
}

/** Where `make kube` puts what it builds. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'weir/kube', kubernetesVersion())
}

/** The programs that are on this machine: each from `KUBEBUILDER_ASSETS` if it is there, else from the cache. */
export function findBinaries(): { found: Partial<Binaries>; missing: Program[] } {
  const folders = [process.env.KUBEBUILDER_ASSETS, cacheFolder()].filter(
    folder => folder !== undefined && folder !== '',
  )
  const found: Partial<Binaries> = {}
  for (const program of PROGRAMS) {
    const path = folders.map(folder => join(folder!, program)).find(isExecutable)
    if (path) found[program] = path
  }
  return { found, missing: PROGRAMS.filter(program => !found[program]) }
}

/** As `findBinaries`, but everything must be there. */
export function requireBinaries(): Binaries {
  const { found, missing } = findBinaries()
  if (missing.length > 0) throw new Error(`${missing.join(', ')} not found; to build them: make kube`)
  return found as Binaries
}

/** Builds what is missing or stale in the cache folder. Takes minutes the first time. */
export function buildBinaries(): void {
  const { status, error } = spawnSync(join(import.meta.dirname, 'build.sh'), { stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) throw new Error('test/cluster/build.sh failed, see above')
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
