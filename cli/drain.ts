import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN_URL, type BackendStatus, fetchStatus, setDrain } from './admin-client.ts'
import { coloursFor } from './colour.ts'
import { CommandError, type Input, UsageError } from './command.ts'
import { formatReferences } from './status.ts'
import { formatSeconds, plural } from './words.ts'

const POLL_MS = 250

/** `weir drain BACKEND`. */
export async function drain(input: Input): Promise<number> {
  const admin = input.url('admin', ADMIN_URL)
  const { namespace, name } = target(input)
  const label = `${namespace}/${name}`
  if (input.flag('undo') && input.flag('wait')) throw new UsageError('--undo and --wait do not go together')

  const uid = await setDrain(admin, namespace, name, !input.flag('undo'))
  if (input.flag('undo')) {
    say(`${label} is back in service`)
    return 0
  }
  const backend = await find(admin, uid)
  const references = count(backend)
  if (!input.flag('wait')) {
    say(references > 0 ? `${label} is draining: ${describe(backend!)}` : `${label} is drained`)
    return 0
  }
  return await waitForDrain(admin, uid, label)
}

async function waitForDrain(admin: string, uid: string, label: string): Promise<number> {
  const colours = coloursFor(process.stdout)
  let shown: number | undefined
  for (;;) {
    const backend = await find(admin, uid)
    const references = count(backend)
    if (backend?.state === 'Serving') throw new CommandError(`${label} was put back into service`)
    if (!backend || references === 0) {
      say(colours.green(`${label} is drained`))
      return 0
    }
    if (references !== shown) say(`${label} is draining: ${describe(backend)}`)
    shown = references
    await wait(POLL_MS)
  }
}

/** `BACKEND` alone, or as the status shows it: `NAMESPACE/NAME`. */
function target(input: Input): { namespace: string; name: string } {
  const given = input.text('namespace')
  const [first, second, ...rest] = input.argument.split('/')
  if (rest.length > 0 || !first || second === '') throw new UsageError(`${JSON.stringify(input.argument)} is no name`)
  if (second === undefined) return { namespace: given ?? 'default', name: first }
  if (given !== undefined && given !== first) throw new UsageError(`--namespace ${given} contradicts ${input.argument}`)
  return { namespace: first, name: second }
}

async function find(admin: string, uid: string): Promise<BackendStatus | undefined> {
  const { status } = await fetchStatus(admin)
  return status.backends.find(backend => backend.uid === uid)
}

function count(backend: BackendStatus | undefined): number {
  return Object.values(backend?.references ?? {}).reduce((sum, each) => sum + each, 0)
}

function describe(backend: BackendStatus): string {
  const oldest = backend.oldestSeconds ? `, oldest ${formatSeconds(backend.oldestSeconds)}` : ''
  return `${plural(count(backend), 'request')} left (${formatReferences(backend)})${oldest}`
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
