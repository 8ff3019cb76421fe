#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { nearest } from '../crds/spelling.ts'
import { coloursFor } from './colour.ts'
import { CommandError, Input, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'
import { commandHelp, programHelp } from './help.ts'

process.exitCode = await main(process.argv.slice(2))

async function main(words: string[]): Promise<number> {
  const [name, ...rest] = words
  if (name === '--version' || name === '-v') {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    process.stdout.write(`weir ${version}\n`)
    return 0
  }
  if (name === '--help' || name === '-h' || (name === 'help' && rest.length === 0)) {
    process.stdout.write(programHelp(COMMANDS, coloursFor(process.stdout)))
    return 0
  }
  if (name === undefined) {
    process.stderr.write(programHelp(COMMANDS, coloursFor(process.stderr)))
    return 2
  }
  const asksHelp = name === 'help' || rest.includes('--help') || rest.includes('-h')
  const wanted = name === 'help' ? rest[0] : name
  const command = COMMANDS.find(each => each.name === wanted)
  if (!command) return fail(unknown(wanted!), '--help')
  if (asksHelp) {
    process.stdout.write(commandHelp(command, coloursFor(process.stdout)))
    return 0
  }
  try {
    return await command.run(new Input(command, rest))
  } catch (error) {
    if (error instanceof UsageError) return fail(error.message, `${command.name} --help`)
    if (!(error instanceof CommandError)) throw error
    process.stderr.write(`${coloursFor(process.stderr).red('weir:')} ${error.message}\n`)
    return 1
  }
}

function unknown(word: string): string {
  const names = COMMANDS.map(command => command.name)
  const meant = nearest(word, names)
  const what = word.startsWith('-') ? 'unknown option' : 'unknown command'
  return `${what} ${JSON.stringify(word)}${meant ? `; did you mean "${meant}"?` : ''}`
}

function fail(message: string, help: string): number {
  const colours = coloursFor(process.stderr)
  process.stderr.write(`${colours.red('weir:')} ${message}\n${colours.dim(`see "weir ${help}"`)}\n`)
  return 2
}
