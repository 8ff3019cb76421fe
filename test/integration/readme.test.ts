import { execFileSync, spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseFile } from '../../operator/files/parse.ts'
import { runWeir as weir } from '../kit/program.ts'
import { WeirProcess } from './weir-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const WEIR = `'${process.execPath}' '${join(ROOT, 'cli/weir.ts')}'`

let folder: string
let running: WeirProcess[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-readme-'))
  running = []
})
afterEach(async () => {
  await Promise.all(running.map(each => each.stop(0)))
  rmSync(folder, { recursive: true })
})

/** Fenced blocks after a heading, up to the next one: `[how they are marked, their text]`. */
function blocksOf(heading: string): [string, string][] {
  const section = README.split(`## ${heading}\n`)[1]!.split('\n## ')[0]!
  return [...section.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(match => [match[1]!, match[2]!])
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return String(port)
}

/** What the README says, with free ports in place of the usual ones. */
type Ported = (text: string) => string

async function freePorts(): Promise<Ported> {
  const ports = { '8080': await freePort(), '8081': await freePort(), '9090': await freePort() }
  return text => Object.entries(ports).reduce((result, [usual, free]) => result.replaceAll(usual, free), text)
}

/** Runs a block of the README as a person's shell would, in the temporary folder. */
function shell(block: string, ported: Ported): Promise<string> {
  const script = ported(block)
    .replaceAll(/npm run -s weir -- (status|drain)/g, `${WEIR} $1 --admin ${ported('http://127.0.0.1:9090')}`)
    .replaceAll('npm run -s weir --', WEIR)
  const child = spawn('bash', ['-c', script], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => (output += text))
  child.stderr.setEncoding('utf8').on('data', text => (output += text))
  return new Promise(resolve => child.on('close', () => resolve(output)))
}

test('the tour works as it is written', async () => {
  const ported = await freePorts()
  let output = ''
  let gateway: WeirProcess | undefined
  for (const [mark, text] of blocksOf('A tour of a minute')) {
    if (mark === 'sh run') {
      const words = ported(text).trim().replace('npm run -s weir -- ', '').split(' ')
      if (words[0] === 'run') {
        // "Stop it with Ctrl-C."
        await gateway?.stop(0)
        words.push('--port', ported('8080'), '--admin-port', ported('9090'))
      }
      const started = new WeirProcess(words, { cwd: folder })
      running.push(started)
      if (words[0] === 'run') {
        gateway = started
        await started.listening()
      } else {
        await started.says('demo model on')
      }
    } else if (mark === 'sh') {
      output = await shell(text, ported)
    } else {
      expect(mark).toBe('text')
      for (const line of ported(text).trimEnd().split('\n')) {
        await gateway!.until(() => `${output}${gateway!.stderr}`.includes(line), `${line}\n${output}`)
      }
    }
  }
})

test('the two commands are scripts of the package', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const commands = blocksOf('Two commands').map(([, text]) => text.trim())
  expect(commands).toEqual(['npm ci && npm run -s weir -- run', 'npm ci && npm test'])
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['weir', 'test']))
})

test('every link to a file leads somewhere', () => {
  const pages = globSync('{README,CONTRIBUTING,CHANGELOG}.md', { cwd: ROOT }).concat(
    globSync('docs/**/*.md', { cwd: ROOT }),
  )
  const broken = pages.flatMap(page =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)]
      .filter(([, target]) => !existsSync(join(ROOT, dirname(page), target!)))
      .map(([, target]) => `${page}: ${target}`),
  )
  expect(pages.length).toBeGreaterThan(8)
  expect(broken).toEqual([])
})

describe('the pages under docs', () => {
  test('resources that are shown are valid', async () => {
    const shown = globSync('docs/*.md', { cwd: ROOT }).flatMap(page =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(match => match[1]!),
    )
    writeFileSync(join(folder, 'docs.yaml'), shown.join('---\n'))
    expect(parseFile('docs.yaml', shown.join('---\n')).documents.length).toBeGreaterThan(4)
    const checked = await weir(['validate', '-f', 'docs.yaml'], { cwd: folder, env: { OPENAI_API_KEY: 'k' } })
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+ objects are valid\n$/) })
  })
})

test('make help names every target', () => {
  const makefile = readFileSync(join(ROOT, 'Makefile'), 'utf8')
  const targets = /^\.PHONY: (.*)$/m.exec(makefile)![1]!.split(' ')
  const help = execFileSync('make', ['help'], { cwd: ROOT, encoding: 'utf8' })
  expect(
    help
      .trim()
      .split('\n')
      .map(line => line.trim().split(/\s+/)[1]),
  ).toEqual(targets)
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const used = [...makefile.matchAll(/npm (?:run -s )?(weir|test|check|format|generate|bench)\b/g)].map(
    match => match[1]!,
  )
  expect(used.filter(name => !(name in scripts))).toEqual([])
})
