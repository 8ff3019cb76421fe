import { setTimeout as sleep } from 'node:timers/promises'
import { routeYaml } from '../kit/resources.ts'
import { GatewayPeer } from './gateway-peer.ts'
import { MODEL } from './traffic.ts'

const EDITS = 100

/** Routes that stand in the folder and are not edited. */
const OTHER_ROUTES = 20

const PATIENCE_MS = 20_000

/**
 * Times, in ms, from the rename that puts an edited route into the watched folder to the line that says that the new
 * generation is in force.
 */
export async function editTimes(upstream: string): Promise<number[]> {
  const others = Array.from({ length: OTHER_ROUTES }, (_, i) => [`route-${i}.yaml`, route(`other-${i}`, `other-${i}`)])
  const gateway = await GatewayPeer.start(upstream, { files: Object.fromEntries(others) })
  try {
    const times: number[] = []
    for (let edit = 1; edit <= EDITS; edit++) {
      const applied = lineAfter(gateway, `applied generation ${edit + 1} (`)
      const begun = await gateway.edit('route.yaml', route('chat', `edited-${edit}`))
      times.push((await applied) - begun)
      // Not in step with the timers of the gateway.
      await sleep(20 + Math.random() * 100)
    }
    await checkGeneration(gateway, EDITS + 1)
    return times
  } finally {
    await gateway.stop()
  }
}

function route(name: string, model: string): string {
  return routeYaml({ name, models: [name === 'chat' ? MODEL : `${name}-*`, model], backends: ['upstream'] })
}

/** When the line came (ms, monotonic). */
function lineAfter(gateway: GatewayPeer, beginning: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`not within 20 s: ${beginning}\n${gateway.child.stderr}`)),
      PATIENCE_MS,
    )
    gateway.child.onLine = line => {
      if (!line.startsWith(beginning)) return
      clearTimeout(timer)
      resolve(performance.now())
    }
  })
}

/** The line must not say more than is true. */
async function checkGeneration(gateway: GatewayPeer, wanted: number): Promise<void> {
  const response = await fetch(`${gateway.adminUrl}/status`)
  const { config } = (await response.json()) as { config: { generation: number } }
  if (config.generation !== wanted) throw new Error(`generation ${config.generation} is in force, not ${wanted}`)
}
