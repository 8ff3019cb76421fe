import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** One server of a control plane, with its output in a file. */
export class ServerProcess {
  readonly name: string
  readonly #log: string
  readonly #child: ChildProcess
  readonly #guard: ChildProcess

  constructor(name: string, command: string, args: readonly string[], log: string) {
    this.name = name
    this.#log = log
    const out = openSync(log, 'a')
    this.#child = spawn(command, args, { stdio: ['ignore', out, out] })
    closeSync(out)
    this.#child.once('error', () => {})
    this.#guard = guard(this.#child.pid)
  }

  get ended(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The end of its output, to say why it is not there. */
  lastLines(): string {
    return readFileSync(this.#log, 'utf8').split('\n').slice(-12).join('\n')
  }

  /** Looks every 50 ms; throws with the server's last lines when it has ended or is not ready in time. */
  async until(ready: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    while (!(await ready())) {
      if (this.ended) throw new Error(`${this.name} ended at once:\n${this.lastLines()}`)
      if (performance.now() > deadline)
        throw new Error(`${this.name} not ready in ${timeoutMs} ms:\n${this.lastLines()}`)
      await sleep(50)
    }
  }

  /** SIGKILL: there is nothing to save, and a polite end takes the API server seconds. */
  async kill(): Promise<void> {
    await end(this.#guard)
    await end(this.#child)
  }
}

/** A shell that ends the server when we are gone without having done so: it notices that its input has closed. */
function guard(pid: number | undefined): ChildProcess {
  const child = spawn('sh', ['-c', `read -r _; kill -9 ${pid} 2>/dev/null`], { stdio: ['pipe', 'ignore', 'ignore'] })
  child.once('error', () => {})
  child.stdin?.on('error', () => {})
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
