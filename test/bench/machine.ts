import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'

/** Ticks of /proc/PID/stat in a second: USER_HZ, which Linux shows as 100 on x64 and arm64 whatever its own clock is. */
const TICKS_PER_SECOND = 100

/** CPU time of a process, all of its threads, user and system, in seconds (proc(5): utime, stime). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is a name in brackets and may hold anything; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Resident memory in MiB. */
export function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

/** The cores of this machine, divided: the last one is the proxy's, the others are for what surrounds it. */
export interface Cores {
  proxy: string
  others: string
}

/**
 * Moves this process, and with it what it will start, off the proxy's core. Null where there is nothing to divide: one
 * core, or no `taskset`.
 */
export function divideCores(): Cores | null {
  const cores = allowedCores()
  if (cores.length < 2) return null
  const divided = { proxy: String(cores.at(-1)), others: cores.slice(0, -1).join(',') }
  const moved = spawnSync('taskset', ['-a', '-c', '-p', divided.others, String(process.pid)], { stdio: 'ignore' })
  return moved.status === 0 ? divided : null
}

function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]!
  return list.split(',').flatMap(part => {
    const [first, last = first] = part.split('-').map(Number)
    return Array.from({ length: last! - first! + 1 }, (_, index) => first! + index)
  })
}

export function loadAverage(): string {
  return loadavg()
    .map(load => load.toFixed(2))
    .join(' ')
}

/** `2 × AMD EPYC`. */
export function processor(): string {
  const all = cpus()
  return `${all.length} × ${all[0]?.model.trim() ?? 'unknown'}`
}
