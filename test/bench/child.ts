import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'

const PATIENCE_MS = 20_000

export interface ChildOptions {
  /** File that stdout is appended to; absent discards it. */
  stdout?: string
  /** Core that it is bound to with all of its threads. */
  core?: string
  env?: NodeJS.ProcessEnv
}

/** Something that is measured, as a process of its own. Whoever starts it stops it; it never outlives this process. */
export class Child {
  readonly pid: number
  readonly name: string
  stderr = ''
  /** Called for each complete line of stderr, as soon as it has come. */
  onLine: (line: string) => void = () => {}
  readonly #child: ChildProcess
  readonly #kill = () => void this.#child.kill('SIGKILL')
  #unfinished = ''

  constructor(command: string, args: readonly string[], { stdout, core, env }: ChildOptions = {}) {
    // taskset becomes the command it starts, so the pid is that of the command.
    const [file, ...words] = core === undefined ? [command, ...args] : ['taskset', '-c', core, command, ...args]
    const output = openSync(stdout ?? '/dev/null', 'a')
    this.#child = spawn(file!, words, { stdio: ['ignore', output, 'pipe'], env })
    closeSync(output)
    this.name = [command, ...args].join(' ')
    this.#child.once('error', error => this.#read(`${error.message}\n`))
    process.once('exit', this.#kill)
    if (this.#child.pid === undefined) throw new Error(`${command} could not be started; is it installed?`)
    this.pid = this.#child.pid
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => this.#read(text))
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The first match in stderr, once it is there. Rejects when the process ends before, or after 20 s. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const match = pattern.exec(this.stderr)
      if (match) return match
      if (!this.running || performance.now() > deadline) {
        throw new Error(`${this.name} did not say ${pattern}:\n${this.stderr}`)
      }
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }

  /** SIGTERM; SIGKILL after 10 s. */
  async stop(): Promise<void> {
    process.off('exit', this.#kill)
    if (!this.running) return
    const exited = once(this.#child, 'exit')
    const timer = setTimeout(this.#kill, 10_000)
    this.#child.kill('SIGTERM')
    await exited
    clearTimeout(timer)
  }

  #read(text: string): void {
    this.stderr += text
    const lines = (this.#unfinished + text).split('\n')
    this.#unfinished = lines.pop()!
    for (const line of lines) this.onLine(line)
  }
}
