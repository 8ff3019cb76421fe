import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { within } from './patience.ts'

/** The repository: the program runs from there, as a person would run it. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const TIMEOUT_MS = 20_000
const POLL_MS = 10

export interface Exit {
  /** Null when a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Output extends Exit {
  stdout: string
  stderr: string
}

export interface ProgramOptions {
  /** Added to the environment of the test; `undefined` takes a variable away. */
  env?: Record<string, string | undefined>
  cwd?: string
}

/** `cli/weir.ts` as a process of its own, ended by its pid at the latest when the test process ends. */
export class Program {
  stdout = ''
  stderr = ''
  readonly pid: number
  /** Resolves once it has ended and all of its output has been read. */
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  readonly #args: readonly string[]
  #exit: Exit | undefined

  constructor(args: readonly string[], { env = {}, cwd = ROOT }: ProgramOptions = {}) {
    this.#args = args
    this.#child = spawn(process.execPath, [`${ROOT}cli/weir.ts`, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    // Undefined only where it could not be started; then there is nothing to end, and `exited` rejects.
    this.pid = this.#child.pid ?? -1
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    const kill = () => void this.#child.kill('SIGKILL')
    process.once('exit', kill)
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', (code, signal) => {
        process.off('exit', kill)
        this.#exit = { code, signal }
        resolve(this.#exit)
      })
    })
    // Whoever awaits it still gets the error; unawaited it must not end the test run as an unhandled rejection.
    this.exited.catch(() => {})
  }

  /** Complete lines of stderr so far. */
  get stderrLines(): string[] {
    return this.stderr.split('\n').slice(0, -1)
  }

  get running(): boolean {
    return this.#exit === undefined
  }

  /** Sends a signal to this process alone. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Waits until `look` gives something. Rejects, with what was printed, when it does not in time or the process ends. */
  async waitFor<T>(what: string, look: () => T | undefined | false, timeoutMs = TIMEOUT_MS): Promise<T> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      // Asked before the look: what was printed last must still be seen.
      const exit = this.#exit
      const late = performance.now() > deadline
      const seen = look()
      if (seen !== undefined && seen !== false) return seen
      const why = exit ? `the process ended (${exit.signal ?? exit.code})` : late && `not within ${timeoutMs} ms`
      if (why) throw new Error(`waiting for ${what}: ${why}\n${this.printed()}`)
      await sleep(POLL_MS)
    }
  }

  /** Everything that it has printed, for the message of a failure. */
  printed(): string {
    return `$ weir ${this.#args.join(' ')}\n--- stderr\n${this.stderr}--- stdout\n${this.stdout}---`
  }

  /** SIGTERM, and SIGKILL after `graceMs`. Resolves once it has ended; nothing happens when it has already. */
  async stop(graceMs = 5_000): Promise<Exit> {
    if (this.running) this.signal('SIGTERM')
    return within(this.exited, graceMs, 'the exit').catch(() => {
      this.signal('SIGKILL')
      return this.exited
    })
  }
}

/** Runs `weir ARGS…` to its end. Rejects, with what was printed, when it takes longer than `timeoutMs` (20 s). */
export async function runWeir(
  args: readonly string[],
  { timeoutMs = TIMEOUT_MS, ...options }: ProgramOptions & { timeoutMs?: number } = {},
): Promise<Output> {
  const program = new Program(args, options)
  try {
    const exit = await within(program.exited, timeoutMs, 'the exit')
    return { ...exit, stdout: program.stdout, stderr: program.stderr }
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${program.printed()}`)
  } finally {
    await program.stop(0)
  }
}
