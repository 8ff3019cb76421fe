import type { Colours } from './colour.ts'
import type { Command, Option } from './command.ts'

const HELP: Option = { type: 'boolean', short: 'h', help: 'show this help' }

/** Help of the program. */
export function programHelp(commands: Command[], colours: Colours): string {
  const width = Math.max(...commands.map(command => command.name.length))
  return [
    'Weir is a gateway for LLM traffic.',
    '',
    `${colours.bold('Usage')}  weir COMMAND [OPTION]…`,
    '',
    colours.bold('Commands'),
    ...commands.map(command => `  ${command.name.padEnd(width)}  ${command.summary}`),
    '',
    colours.bold('Options'),
    '  -h, --help     show this help, or that of a command',
    '  -v, --version  show the version',
    '',
    'From a clone, "weir" is: npm run -s weir --',
    '',
  ].join('\n')
}

/** Help of one command. */
export function commandHelp(command: Command, colours: Colours): string {
  const options = Object.entries({ ...command.options, help: HELP })
  const left = options.map(([name, { short, value }]) => {
    const dashed = `${short ? `-${short}, ` : '    '}--${name}`
    return value ? `${dashed} ${value}` : dashed
  })
  const width = Math.max(...left.map(text => text.length))
  const argument = command.argument ? ` ${command.argument}` : ''
  return [
    `${colours.bold('Usage')}  weir ${command.name}${argument} [OPTION]…`,
    '',
    command.description,
    '',
    colours.bold('Options'),
    ...options.map(([, { help }], index) => `  ${left[index]!.padEnd(width)}  ${help}`),
    '',
    colours.bold('Examples'),
    ...command.examples.map(example => `  ${example}`),
    '',
  ].join('\n')
}
