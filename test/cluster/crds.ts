import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GROUP, VERSION } from '../../crds/group.ts'
import { KINDS, type KindName } from '../../crds/kinds.ts'
import type { Resource } from '../../kube/resource.ts'
import { eventually } from '../kit/patience.ts'
import type { Cluster } from './cluster.ts'

const GENERATED = join(import.meta.dirname, '../../crds/generated')

/** How the API server addresses one of our kinds. */
export function resourceOf(kind: KindName): Resource {
  return { group: GROUP, version: VERSION, kind, plural: KINDS[kind].plural, namespaced: true }
}

/** Installs the generated CRDs, as a person would, and waits until they are served. */
export async function installCrds(cluster: Cluster): Promise<void> {
  const files = readdirSync(GENERATED)
  const documents = files.map(file => readFileSync(join(GENERATED, file), 'utf8'))
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: documents.join('\n---\n') })
  const names = files.map(file => `crd/${file.replace('.yaml', '')}.${GROUP}`)
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=20s', ...names])
  // Established comes a moment before every path is served.
  const client = cluster.client()
  try {
    await eventually(() => client.list(resourceOf('LLMTenant'), { limit: 1 }), { timeoutMs: 10_000 })
  } finally {
    await client.close()
  }
}
