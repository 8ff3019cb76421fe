import { connect } from 'node:net'
import { beforeAll, describe, inject } from 'vitest'
import { findBinaries } from './binaries.ts'
import { Cluster, type ClusterAddress } from './cluster.ts'

export interface ClusterNeeds {
  /** Also kube-controller-manager: namespaces end, owners' children go, Services get EndpointSlices. */
  controllers?: boolean
}

/** Where the programs are missing, tests that need them are skipped; not in CI, where that must not go unnoticed. */
const skipped = findBinaries().missing.length > 0 && !process.env.CI

/**
 * A `describe` for tests against the shared API server. `cluster()` is there from the first hook of `body` on. Skipped
 * where the programs are missing (`make kube` builds them), except with `CI` set.
 */
export function describeWithCluster(
  name: string,
  body: (cluster: () => Cluster) => void,
  needs: ClusterNeeds = {},
): void {
  describe.skipIf(skipped)(name, () => {
    let cluster: Cluster | undefined
    beforeAll(async () => {
      cluster = new Cluster(await ask(needs))
    }, 90_000)
    body(() => {
      if (!cluster) throw new Error('the cluster is there in hooks and tests, not while they are declared')
      return cluster
    })
  })
}

/** The same, for tests that start a control plane of their own to stop and start it. */
export const describeWithOwnCluster = describe.skipIf(skipped)

async function ask(needs: ClusterNeeds): Promise<ClusterAddress> {
  const socket = connect(inject('clusterSocket'))
  socket.write(needs.controllers ? 'controllers' : 'server')
  let text = ''
  for await (const part of socket) text += part
  const answer = JSON.parse(text) as { address?: ClusterAddress; error?: string }
  if (!answer.address) throw new Error(`the control plane did not start: ${answer.error}`)
  return answer.address
}
