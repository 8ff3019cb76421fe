import { expect, test } from 'vitest'
import { Input, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'

const input = (name: string, ...words: string[]) => new Input(COMMANDS.find(each => each.name === name)!, words)
const failure = (attempt: () => unknown) => {
  try {
    attempt()
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError)
    return (error as Error).message
  }
  throw new Error('nothing was wrong')
}

test('options in every form', () => {
  const run = input('run', '-f', 'a.yaml', '--file=b', '--port', '0')
  expect(run.texts('file')).toEqual(['a.yaml', 'b'])
  expect(run.port('port', 8080)).toBe(0)
  expect(run.port('admin-port', 9090)).toBe(9090)
  expect(run.text('host')).toBeUndefined()
  expect(input('drain', 'openai', '--wait').flag('wait')).toBe(true)
  expect(input('drain', '--wait', 'openai').argument).toBe('openai')
})

test.each([
  ['run', ['--prot', '1'], "unknown option '--prot'"],
  ['run', ['-f'], "option '-f, --file <value>' argument missing"],
  ['run', ['a.yaml'], 'unexpected argument "a.yaml"; name files and folders with -f'],
  ['status', ['now'], 'unexpected argument "now"'],
  ['status', ['--watch=yes'], "option '-w, --watch' does not take an argument"],
  ['drain', [], 'BACKEND is missing'],
  ['drain', ['a', 'b'], 'unexpected argument "b"'],
])('weir %s %j', (name, words, message) => {
  expect(failure(() => input(name, ...words))).toBe(message)
})

test.each(['65536', '-1', '80a', '', '1e3'])('port %j is none', port => {
  expect(failure(() => input('run', `--port=${port}`).port('port', 1))).toContain('--port must be a number from 0')
})

test.each([
  ['http://127.0.0.1:9/', 'http://127.0.0.1:9'],
  ['localhost:9090', 'http://localhost:9090'],
  ['https://gateway/weir/', 'https://gateway/weir'],
])('admin URL %s', (given, url) => {
  expect(input('status', '--admin', given).url('admin', 'http://x')).toBe(url)
})

test.each(['ftp://a', 'http://', 'http://a:b:c'])('admin URL %j is none', given => {
  expect(failure(() => input('status', '--admin', given).url('admin', 'http://x'))).toContain('--admin must be a URL')
})

test('every option and command has a help text that fits a line', () => {
  for (const command of COMMANDS) {
    expect(command.examples.length).toBeGreaterThan(0)
    for (const text of [command.summary, ...Object.values(command.options).map(option => option.help)]) {
      expect(text).toMatch(/^[a-z].{5,90}[^.]$/)
    }
  }
})
