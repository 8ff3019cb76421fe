import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClusterAccess } from './access.ts'
import { RereadFile } from './reread-file.ts'

/** Where the kubelet puts a pod's ServiceAccount. */
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * The API server as a pod sees it: address from the environment, token and CA from the mounted ServiceAccount. Both
 * files are read again as they rotate. Throws outside a pod, saying what to do instead.
 */
export async function inClusterAccess(
  env: Record<string, string | undefined> = process.env,
  folder = FOLDER,
): Promise<ClusterAccess> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port) {
    throw new Error('no cluster to talk to: not in a pod, and neither --kubeconfig nor KUBECONFIG names a kubeconfig')
  }
  const token = new RereadFile(join(folder, 'token'))
  const ca = new RereadFile(join(folder, 'ca.crt'))
  const namespace = await mounted(() => readFile(join(folder, 'namespace'), 'utf8'))
  await mounted(() => Promise.all([token.read(), ca.read()]))
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace: namespace.trim(),
    credentials: async () => ({ token: (await token.read()).toString('utf8').trim() }),
    trust: async () => ({ ca: await ca.read(), insecure: false }),
    invalidate: () => token.invalidate(),
  }
}

async function mounted<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`the pod's ServiceAccount cannot be read (${why}); is automountServiceAccountToken off?`)
  }
}
