import { parseArgs } from 'node:util'

/** One option of a command, as `--help` shows it. */
export interface Option {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  /** What stands for the value in the help; absent for switches. */
  value?: string
  help: string
}

export interface Command {
  name: string
  summary: string
  /** Shown below the usage line. */
  description: string
  /** Name of the one argument without a dash that the command needs. */
  argument?: string
  options: Record<string, Option>
  examples: string[]
  /** Loads what the command needs and runs it; resolves with the exit code. */
  run(input: Input): Promise<number>
}

/** The command line was wrong: exit code 2. */
export class UsageError extends Error {}

/** The command could not do its work, for a reason the person can act on: exit code 1. */
export class CommandError extends Error {}

/** The options and arguments that a person gave to a command. */
export class Input {
  readonly #values: Record<string, string | boolean | (string | boolean)[] | undefined>
  readonly argument: string

  constructor(command: Command, words: string[]) {
    const { values, positionals } = parse(command, words)
    this.#values = values
    const [argument, ...rest] = positionals
    if (command.argument && argument === undefined) throw new UsageError(`${command.argument} is missing`)
    const surplus = command.argument ? rest[0] : argument
    if (surplus !== undefined) {
      const advice = command.options.file ? '; name files and folders with -f' : ''
      throw new UsageError(`unexpected argument ${JSON.stringify(surplus)}${advice}`)
    }
    this.argument = argument ?? ''
  }

  flag(name: string): boolean {
    return this.#values[name] === true
  }

  text(name: string): string | undefined {
    const value = this.#values[name]
    return typeof value === 'string' ? value : undefined
  }

  texts(name: string): string[] {
    const value = this.#values[name]
    return Array.isArray(value) ? value.map(String) : []
  }

  port(name: string, fallback: number): number {
    const text = this.text(name)
    if (text === undefined) return fallback
    const port = Number(text)
    if (!/^[0-9]{1,5}$/.test(text) || port > 65535) {
      throw new UsageError(`--${name} must be a number from 0 (any free port) to 65535, is ${JSON.stringify(text)}`)
    }
    return port
  }

  /** Base URL of an admin port, without a slash at its end. */
  url(name: string, fallback: string): string {
    const text = this.text(name) ?? fallback
    const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`)
    if (!url || !/^https?:$/.test(url.protocol)) {
      throw new UsageError(`--${name} must be a URL such as ${fallback}, is ${JSON.stringify(text)}`)
    }
    return url.href.replace(/\/+$/, '')
  }
}

function parse(command: Command, words: string[]) {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  )
  try {
    return parseArgs({ args: words, options, allowPositionals: true })
  } catch (error) {
    // The rest of Node's message explains how to pass arguments that begin with a dash.
    const message = (error as Error).message.split('. To specify')[0]!.split('\n')[0]!
    throw new UsageError(message.charAt(0).toLowerCase() + message.slice(1))
  }
}
