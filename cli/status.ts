import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN_URL, type BackendStatus, fetchStatus, type StatusAnswer } from './admin-client.ts'
import { type Colours, coloursFor } from './colour.ts'
import { type Input, UsageError } from './command.ts'
import { formatSeconds, plural, table } from './words.ts'

const WATCH_MS = 1_000

/** `weir status`. */
export async function status(input: Input): Promise<number> {
  const admin = input.url('admin', ADMIN_URL)
  const output = input.text('output')
  if (output !== undefined && output !== 'json') {
    throw new UsageError(`--output must be json, is ${JSON.stringify(output)}`)
  }
  // Whoever reads has seen enough: `weir status --watch | head`.
  process.stdout.on('error', () => process.exit(0))
  const terminal = process.stdout.isTTY === true
  do {
    const { status: answer, raw } = await fetchStatus(admin)
    // One line for each look lets another program follow it.
    const json = () => JSON.stringify(raw, null, input.flag('watch') ? undefined : 2)
    const text = output === 'json' ? json() : renderStatus(answer, coloursFor(process.stdout))
    const clear = input.flag('watch') && terminal && output !== 'json' ? '\x1b[H\x1b[2J' : ''
    process.stdout.write(`${clear}${text}\n`)
    if (input.flag('watch')) await wait(WATCH_MS)
  } while (input.flag('watch'))
  return 0
}

/** The status as tables, without a newline at the end. */
export function renderStatus(answer: StatusAnswer, colours: Colours): string {
  const { config, load, ready, backends, resources } = answer
  const state = ready ? colours.green('ready') : colours.red('not ready')
  const busy = `${plural(load.inFlight, 'request')} in flight, ${load.queued} queued`
  const lines = [`generation ${config?.generation ?? 'none'}, ${state}, ${busy}${load.saturated ? ', saturated' : ''}`]

  if (backends.length > 0) {
    const header = ['BACKEND', 'STATE', 'IN FLIGHT', 'QUEUED', 'SLOTS', 'REFERENCES', 'OLDEST']
    const [title, ...rows] = table(header, backends.map(backendRow))
    lines.push('', colours.bold(title!), ...rows)
  }
  if (resources && resources.length > 0) {
    const [title, ...rows] = table(
      ['KIND', 'NAME', 'GENERATION', 'READY', 'REASON', 'MESSAGE'],
      resources.map(resource => {
        const ready = resource.conditions.find(condition => condition.type === 'Ready')
        const partial = resource.conditions.find(({ type, status }) => type === 'PartiallyInvalid' && status === 'True')
        const told = ready?.status === 'True' && partial ? partial : ready
        return [
          resource.kind,
          `${resource.namespace}/${resource.name}`,
          String(resource.generation),
          ready?.status ?? 'Unknown',
          told?.reason ?? '',
          told === ready && ready?.status === 'True' ? '' : (told?.message ?? ''),
        ]
      }),
    )
    lines.push('', colours.bold(title!), ...rows)
  }
  return lines.join('\n')
}

function backendRow(backend: BackendStatus): string[] {
  return [
    `${backend.namespace}/${backend.name}`,
    backend.state,
    String(backend.inFlight),
    String(backend.queued),
    String(backend.slots),
    formatReferences(backend) || '-',
    backend.oldestSeconds ? formatSeconds(backend.oldestSeconds) : '-',
  ]
}

/** `gpt-4o 3, gpt-4o-mini 1`: what still uses a backend, by upstream model. */
export function formatReferences(backend: BackendStatus): string {
  return Object.entries(backend.references)
    .filter(([, count]) => count > 0)
    .map(([model, count]) => `${model} ${count}`)
    .join(', ')
}
