import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildBinaries, findBinaries } from './binaries.ts'
import { ControlPlane } from './control-plane.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Unix socket on which the test files ask for the shared control plane. */
    clusterSocket: string
  }
}

/**
 * One control plane for all test files, started by the first that asks and stopped at the end: two cores would rather
 * not start one a file, and a run of unit tests starts none. Files keep apart by namespace.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { missing } = findBinaries()
  if (missing.length > 0) {
    if (process.env.CI) buildBinaries()
    else console.log(`Tests against a real Kubernetes API server are skipped (no ${missing.join(', ')}): make kube`)
  }
  const folder = await mkdtemp(join(tmpdir(), 'weir-ask-'))
  const socket = join(folder, 'cluster.sock')
  let plane: Promise<ControlPlane> | undefined

  const server = createServer(asking => {
    asking.on('error', () => {})
    asking.once('data', question => {
      plane ??= ControlPlane.start()
      answer(asking, plane, question.toString() === 'controllers').catch(() => asking.destroy())
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
  project.provide('clusterSocket', socket)

  return async () => {
    await new Promise(resolve => server.close(resolve))
    // One that did not start has said so to whoever asked.
    await plane?.then(
      started => started.stop(),
      () => {},
    )
    await rm(folder, { recursive: true, force: true })
  }
}

async function answer(asking: Socket, starting: Promise<ControlPlane>, withControllers: boolean): Promise<void> {
  try {
    const plane = await starting
    if (withControllers) await plane.startControllerManager()
    asking.end(JSON.stringify({ address: plane.cluster.address }))
  } catch (error) {
    asking.end(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }))
  }
}
