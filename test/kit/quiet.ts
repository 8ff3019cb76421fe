import type { GatewayStatus } from '../../dataplane/gateway.ts'
import { eventually } from './patience.ts'

/** What still counts something, such as `load.inFlight 1`; empty when nothing does. */
export function countsOf({ load, backends }: GatewayStatus): string[] {
  const counts: [string, number][] = [
    ['load.inFlight', load.inFlight],
    ['load.queued', load.queued],
    ['load.bodyBytes', load.bodyBytes],
  ]
  for (const { namespace, name, references, queued, inFlight } of backends) {
    const backend = `${namespace}/${name}`
    counts.push([`${backend} queued`, queued], [`${backend} inFlight`, inFlight])
    for (const [model, count] of Object.entries(references)) counts.push([`${backend} references of ${model}`, count])
  }
  return counts.filter(([, count]) => count !== 0).map(([what, count]) => `${what} ${count}`)
}

/** Waits until every count of `/status` is zero and returns that status. Rejects after `timeoutMs` (5 s), naming the counts. */
export function quietStatus(
  weir: { status(): Promise<GatewayStatus> },
  { timeoutMs = 5_000 }: { timeoutMs?: number } = {},
): Promise<GatewayStatus> {
  return eventually(
    async () => {
      const status = await weir.status()
      const counts = countsOf(status)
      if (counts.length > 0) throw new Error(`still counted: ${counts.join(', ')}`)
      return status
    },
    { timeoutMs },
  )
}
