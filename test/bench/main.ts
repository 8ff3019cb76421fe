import '../setup.ts'
import { parseArgs } from 'node:util'
import { type CpuResult, interleaved, type Measure, perChunk, perPacedRequest, perRequest, type Sample } from './cpu.ts'
import { editTimes } from './edits.ts'
import { formatSpread, markdownTable, percentile, spread } from './figures.ts'
import { GatewayPeer } from './gateway-peer.ts'
import { type Cores, divideCores, loadAverage, processor } from './machine.ts'
import { memory } from './memory.ts'
import { nginxVersion, startNginx } from './nginx-peer.ts'
import type { Peer } from './peer.ts'
import { Upstream } from './upstream.ts'

const USAGE = `Usage: npm run bench -- [--only NAME] [--seconds N] [--rounds N] [--profile DIR]

  --only NAME    one of request, chunk, edit, memory
  --seconds N    length of each measurement (4)
  --rounds N     rounds of the comparisons with nginx (5)
  --profile DIR  write a CPU profile of the gateway for each of request and chunk; the times are then too high
`

interface Options {
  seconds: number
  rounds: number
  profile: string | undefined
}

/** Measure, gateway, nginx, ratio, what it must be. */
type Row = [string, string, string, string, string]

interface Bench {
  /** Shown while it runs. */
  about: string
  run(upstream: Upstream, cores: Cores | null, options: Options): Promise<Row[]>
}

const BENCHES: Record<string, Bench> = {
  request: {
    about: 'CPU per request',
    run: (upstream, cores, options) =>
      compare(upstream, cores, options, [
        ['CPU per request of 1 KB, full speed', '≤ 2.5', perRequest],
        ['CPU per request of 1 KB, paced', '≤ 2.5', perPacedRequest],
      ]),
  },
  chunk: {
    about: 'CPU per event of a stream',
    run: (upstream, cores, options) =>
      compare(upstream, cores, options, [['CPU per event of 100 bytes', '≤ 2.2', perChunk]]),
  },
  edit: {
    about: '100 edits of a file',
    async run(upstream) {
      const times = await editTimes(upstream.url)
      const [p50, p99] = [50, 99].map(percent => `${percentile(times, percent).toFixed(0)} ms`)
      return [
        ['edit → applied, p50', p50!, '', '', ''],
        ['edit → applied, p99', p99!, '', '', ''],
      ]
    },
  },
  memory: {
    about: 'memory with 500 streams',
    async run(upstream, _cores, { seconds }) {
      const { idle, streaming, after } = await memory(upstream.url, seconds)
      const mib = (value: number) => `${value.toFixed(0)} MiB`
      return [
        ['RSS, idle', mib(idle), '', '', ''],
        ['RSS, 500 open streams', mib(streaming), '', '', ''],
        ['RSS, after they ended', mib(after), '', '', ''],
      ]
    },
  },
}

const NGINX = nginxVersion()

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    profile: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) process.stdout.write(USAGE)
else await bench(values.only, { seconds: number('seconds'), rounds: number('rounds'), profile: values.profile })

async function bench(only: string | undefined, options: Options): Promise<void> {
  const names = only === undefined ? Object.keys(BENCHES) : [only]
  const cores = divideCores()
  if (!cores) say('The proxies have no core of their own here (one core, or no taskset): expect noise.')
  if (!NGINX) say('nginx is not installed, so it is left out: apt-get install nginx-light')
  const load = loadAverage()
  const upstream = await Upstream.start()
  const rows: Row[] = []
  try {
    for (const name of names) {
      const chosen = BENCHES[name]
      if (!chosen) fail(`there is no benchmark ${name}; there are ${Object.keys(BENCHES).join(', ')}`)
      say(`${chosen.about} …`)
      rows.push(...(await chosen.run(upstream, cores, options)))
    }
  } finally {
    upstream.close()
  }
  const about = [
    new Date().toISOString().slice(0, 16).replace('T', ' '),
    processor(),
    `Node.js ${process.versions.node}`,
    ...(NGINX ? [`nginx ${NGINX}`] : []),
    `load average ${load} before, ${loadAverage()} after`,
  ]
  const table = markdownTable(['measure', 'gateway', 'nginx', 'ratio', 'must'], rows)
  process.stdout.write(`\n${about.join('; ')}\n\n${table}\n`)
}

/** The gateway against nginx, which is left out where it is not installed. */
async function compare(
  upstream: Upstream,
  cores: Cores | null,
  { seconds, rounds, profile }: Options,
  measures: [name: string, must: string, measure: Measure][],
): Promise<Row[]> {
  const peers: Peer[] = []
  const rows: Row[] = []
  try {
    peers.push(await GatewayPeer.start(upstream.url, { core: cores?.proxy, profile }))
    if (NGINX) peers.push(await startNginx(upstream.port, cores?.proxy))
    for (const [name, must, measure] of measures) {
      rows.push(...rowsOf(name, must, await interleaved(measure, peers, seconds, rounds)))
    }
    return rows
  } finally {
    for (const peer of peers) await peer.stop()
  }
}

function rowsOf(name: string, must: string, { samples, ratio }: CpuResult): Row[] {
  const column = (format: (all: Sample[]) => string): [string, string] => {
    const [gateway = '', nginx = ''] = ['gateway', 'nginx']
      .map(peer => samples.get(peer))
      .map(all => all && format(all))
    return [gateway, nginx]
  }
  const median = (all: Sample[], read: 'rate' | 'busy') => spread(all.map(each => each[read])).median
  const reads = [...samples.values()].flat().flatMap(({ readsPerChunk }) => readsPerChunk ?? [])
  if (reads.length > 0) say(`  ${formatSpread(spread(reads), 2)} reads for each event: 1 when events come singly`)
  return [
    [
      name,
      ...column(all => formatSpread(spread(all.map(({ micros }) => micros)), 1, 'µs')),
      ratio ? formatSpread(ratio, 2) : '',
      must,
    ],
    ['– a second', ...column(all => median(all, 'rate').toFixed(0)), '', ''],
    ['– core in use', ...column(all => `${(median(all, 'busy') * 100).toFixed(0)} %`), '', ''],
  ]
}

function number(name: 'seconds' | 'rounds'): number {
  const value = Number(values[name])
  if (!(value > 0) || (name === 'rounds' && !Number.isInteger(value))) fail(`--${name} must be a number above 0`)
  return value
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

function fail(message: string): never {
  throw new Error(message)
}
