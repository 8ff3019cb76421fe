import { cp, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFailed, onTestFinished } from 'vitest'
import type { GatewayStatus } from '../../dataplane/gateway.ts'
import { type Exit, Program } from './program.ts'

/** One line of the access log. */
export type LogLine = Readonly<Record<string, string | number | null>>

export interface WeirOptions {
  /** Content by file name, or a folder that is copied. */
  files: Readonly<Record<string, string>> | string
  env?: Record<string, string | undefined>
  /** Further arguments of `weir run`. */
  args?: readonly string[]
}

const LISTENING = /^listening on (http:\/\/\S+) \(admin (http:\/\/\S+)\)$/m
const APPLIED = /^applied generation (\d+) \(/gm

/** A gateway that runs as a person would run it: `weir run -f FOLDER`, on ports of its own. */
export class Weir {
  readonly url: string
  readonly adminUrl: string
  /** The folder that it watches. */
  readonly folder: string
  readonly #program: Program
  /** Newest generation when the files were last changed. */
  #before = 0

  constructor(program: Program, folder: string, [url, adminUrl]: [string, string]) {
    this.#program = program
    this.folder = folder
    this.url = url
    this.adminUrl = adminUrl
  }

  get pid(): number {
    return this.#program.pid
  }

  get exited(): Promise<Exit> {
    return this.#program.exited
  }

  get stderrLines(): string[] {
    return this.#program.stderrLines
  }

  /** Complete lines of the access log so far. Throws when stdout carries anything else. */
  get logs(): LogLine[] {
    const lines = this.#program.stdout.split('\n').slice(0, -1)
    return lines.map(line => {
      try {
        return JSON.parse(line) as LogLine
      } catch {
        throw new Error(`stdout carries what is no line of the access log: ${line}`)
      }
    })
  }

  /** Newest generation that was reported as applied; 0 before the first. */
  get generation(): number {
    return generationOf(this.#program)
  }

  /** Writes a file in one step, so that it is never seen half written. */
  async edit(name: string, text: string): Promise<void> {
    this.#before = this.generation
    const draft = join(this.folder, `.${name}.draft`)
    await writeFile(draft, text)
    await rename(draft, join(this.folder, name))
  }

  async remove(name: string): Promise<void> {
    this.#before = this.generation
    await rm(join(this.folder, name))
  }

  /**
   * Waits for a generation at or past `generation` and returns it; where absent, for one that came after the last `edit`
   * or `remove` had begun.
   */
  waitForApplied(generation = this.#before + 1): Promise<number> {
    return this.#program.waitFor(`generation ${generation}`, () => this.generation >= generation && this.generation)
  }

  /** Waits for a line of stderr and returns it. */
  waitForStderr(pattern: RegExp): Promise<string> {
    return this.#program.waitFor(`${pattern} on stderr`, () => this.stderrLines.find(line => pattern.test(line)))
  }

  /** Waits until the access log has a line that fits, and returns the first one; it is written a moment after the answer. */
  waitForLog(fits: (line: LogLine) => boolean): Promise<LogLine> {
    return this.#program.waitFor(`a line of the access log: ${fits}`, () => this.logs.find(fits))
  }

  /** `/status` of the admin port. */
  async status(): Promise<GatewayStatus> {
    return (await (await this.#admin('/status')).json()) as GatewayStatus
  }

  /** `/metrics` of the admin port. */
  async metrics(): Promise<string> {
    return (await this.#admin('/metrics')).text()
  }

  signal(name: NodeJS.Signals): void {
    this.#program.signal(name)
  }

  /** Everything that it has printed, for the message of a failure. */
  printed(): string {
    return this.#program.printed()
  }

  /** SIGTERM, SIGKILL after `graceMs` (5 s where absent), and the folder is removed. May be called again. */
  async stop(graceMs?: number): Promise<Exit> {
    const exit = await this.#program.stop(graceMs)
    await rm(this.folder, { recursive: true, force: true })
    return exit
  }

  async #admin(path: string): Promise<Response> {
    const response = await fetch(this.adminUrl + path)
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return response
  }
}

/**
 * Starts `weir run` on the given files and waits until it listens. Started inside a test, it is stopped with it, and what
 * it printed is shown when the test fails; started anywhere else, whoever starts it stops it.
 */
export async function startWeir({ files, env, args = [] }: WeirOptions): Promise<Weir> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-test-'))
  let program: Program | undefined
  try {
    if (typeof files === 'string') await cp(files, folder, { recursive: true })
    else for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    const started = new Program(['run', '-f', folder, '--port', '0', '--admin-port', '0', ...args], { env })
    program = started
    const line = await started.waitFor(
      'the line that says where it listens',
      () => LISTENING.exec(started.stderr) ?? false,
    )
    const weir = new Weir(started, folder, [line[1]!, line[2]!])
    followTest(weir)
    return weir
  } catch (error) {
    await program?.stop(0)
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

function generationOf({ stderr }: Program): number {
  return Math.max(0, ...[...stderr.matchAll(APPLIED)].map(match => Number(match[1])))
}

function followTest(weir: Weir): void {
  try {
    onTestFailed(() => console.error(weir.printed()))
    onTestFinished(async () => {
      await weir.stop()
    })
  } catch {
    // Not inside a test, such as in beforeAll: the caller stops it.
  }
}
