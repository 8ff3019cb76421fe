import { Gateway, type GatewayOptions } from '../dataplane/gateway.ts'
import { startDemo } from '../demo/server.ts'
import { FileSource, type LoadedFiles } from '../operator/files/source.ts'
import { drainRoutes } from './admin.ts'
import { CommandError, type Input } from './command.ts'
import { Configuration, type Update } from './configuration.ts'
import { EMPTY, examine } from './examine.ts'
import { explainListenError } from './listen.ts'
import { noticesOf } from './notices.ts'
import { Report } from './report.ts'
import { resourceStatuses } from './resource-status.ts'
import { shutdownSignal } from './shutdown.ts'
import { refuseLoop, type Starter, starter } from './starter.ts'
import { formatSeconds, plural } from './words.ts'

/** `weir run`: files, translation and gateway in one process. */
export async function run(input: Input): Promise<number> {
  const host = input.text('host') ?? '127.0.0.1'
  const port = input.port('port', 8080)
  const adminPort = input.port('admin-port', 9090)
  const files = input.texts('file')
  const report = new Report()
  // A reader of the log that goes away (`weir run | head`) is no reason to stop serving.
  process.stdout.on('error', () => {})

  if (files.length > 0) {
    const source = new FileSource(files)
    return await serve({ host, port, adminPort }, report, source.load(), source)
  }
  refuseLoop(port, process.env)
  const demo = await startDemo({ host: '127.0.0.1', port: 0 })
  try {
    const start = starter(demo.url, process.env)
    return await serve({ host, port, adminPort }, report, start.loaded, start)
  } finally {
    await demo.close(0)
  }
}

interface Address {
  host: string
  port: number
  adminPort: number
}

/** Serves until a signal. `origin` is where the resources come from: watched files, or what is made up without them. */
async function serve(
  address: Address,
  report: Report,
  loaded: LoadedFiles,
  origin: FileSource | Starter,
): Promise<number> {
  if (!isSound(loaded, report)) return 1

  const configuration = new Configuration(loaded, snapshot => gateway?.apply(snapshot))
  const show = (update: Update) => {
    report.problems(update.errors, update.warnings)
    if (update.refused) report.error(`the gateway refused the change: ${update.refused}; the last configuration serves`)
    if (update.applied) report.good(appliedLine(configuration))
    report.notices(noticesOf(configuration, address.host))
  }
  let gateway: Gateway | undefined
  gateway = await startGateway(address, {
    extendStatus: () => ({ resources: resourceStatuses(configuration, gateway?.status().refused ?? []) }),
    extendAdmin: app =>
      drainRoutes(app, {
        configuration,
        stateOf: uid => gateway?.status().backends.find(backend => backend.uid === uid),
        onUpdate: show,
      }),
  })
  const first = configuration.update()
  if (first.refused) {
    await gateway.close({ graceMs: 0 })
    throw new CommandError(`the gateway refused the configuration: ${first.refused}`)
  }
  show(first)
  report.line(`listening on ${gateway.url} (admin ${gateway.adminUrl})`)
  if (origin instanceof FileSource) origin.watch(changed => show(configuration.update(changed)))
  else showStart(report, origin, gateway.url)

  const signal = shutdownSignal()
  await signal.first
  if (origin instanceof FileSource) origin.close()
  const graceMs = longestDrain(configuration)
  const busy = gateway.status().load.inFlight
  if (busy > 0) {
    report.line(
      `finishing ${plural(busy, 'request')}, at most ${formatSeconds(graceMs / 1000)}; once more ends at once`,
    )
  }
  // Streams are being cut on purpose, so nothing is waited for.
  void signal.second.then(code => process.exit(code))
  await gateway.close({ graceMs })
  return 0
}

function startGateway({ host, port, adminPort }: Address, extensions: Partial<GatewayOptions>): Promise<Gateway> {
  const adminHost = '127.0.0.1'
  return Gateway.start({ host, port, adminHost, adminPort, ...extensions }).catch(error => {
    throw explainListenError(error, [
      { option: '--port', host, port },
      { option: '--admin-port', host: adminHost, port: adminPort },
    ])
  })
}

/** At the start nothing is served that is not as it was written; every reason is shown. */
function isSound(loaded: LoadedFiles, report: Report): boolean {
  const { errors, warnings } = examine(loaded, loaded.resources, { published: EMPTY, anonymousFallback: true })
  if (errors.length === 0) return true
  report.problems(errors, warnings)
  report.error(`not started because of ${plural(errors.length, 'problem')}`)
  return false
}

function appliedLine({ generation, content }: Configuration): string {
  const { routes, backends } = content
  return `applied generation ${generation} (${plural(routes.length, 'route')}, ${plural(backends.length, 'backend')})`
}

function longestDrain({ content }: Configuration): number {
  return Math.max(0, ...content.backends.map(backend => backend.drainTimeoutMs))
}

function showStart(report: Report, start: Starter, url: string): void {
  const body = '{"model": "demo", "messages": [{"role": "user", "content": "What is a weir?"}]}'
  const address = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  report.line('models')
  for (const note of start.notes) report.line(`  ${note}`)
  report.line('try it')
  report.line(`  curl ${address}/v1/chat/completions -H 'content-type: application/json' -d '${body}'`)
}
