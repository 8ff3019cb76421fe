import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runWeir as weir } from '../kit/program.ts'
import { WeirProcess } from './weir-process.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-cli-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const head = (kind: string, name: string) => `apiVersion: weir.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\n`
const backend = (name: string, extra = '') =>
  `${head('ModelBackend', name)}spec: {provider: OpenAI, endpoint: {url: "http://127.0.0.1:9/v1"}${extra}}\n---\n`
const route = (name: string, spec = '{match: {models: [m]}, backends: [{name: b}]}') =>
  `${head('LLMRoute', name)}spec: ${spec}\n---\n`
const tenant = (name: string, spec: string) => `${head('LLMTenant', name)}spec: ${spec}\n---\n`
const keyed = '{apiKeys: [{name: k, secretRef: {name: s, key: token}}]}'
const credential = ', credentials: [{name: c, type: APIKey, apiKey: {secretRef: {name: s, key: token}}}]'

describe('the command line', () => {
  test('help of the program and of each command', async () => {
    const program = await weir(['--help'])
    expect(program).toMatchObject({ code: 0, stderr: '' })
    for (const command of ['run', 'validate', 'status', 'drain', 'keys', 'demo']) {
      expect(program.stdout).toContain(`  ${command} `)
      const help = await weir([command, '--help'])
      expect(help).toMatchObject({ code: 0, stderr: '' })
      expect(help.stdout).toContain(`Usage  weir ${command}`)
    }
    expect((await weir(['help', 'run'])).stdout).toContain('--admin-port PORT')
  })

  test('version', async () => {
    expect(await weir(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^weir \d+\.\d+\.\d+\n$/),
    })
  })

  test.each([
    [[], 'Usage  weir COMMAND'],
    [['rum'], 'unknown command "rum"; did you mean "run"?\nsee "weir --help"'],
    [['--port', '1'], 'unknown option "--port"'],
    [['run', '--prot', '1'], 'unknown option \'--prot\'\nsee "weir run --help"'],
    [['run', '--port', 'http'], '--port must be a number from 0'],
    [['run', 'weir.yaml'], 'unexpected argument "weir.yaml"; name files and folders with -f'],
    [['validate'], 'name the files or folders to check with -f'],
    [['status', '-o', 'yaml'], '--output must be json, is "yaml"'],
    [['drain'], 'BACKEND is missing'],
    [['drain', 'b', '--undo', '--wait'], '--undo and --wait do not go together'],
    [['keys', 'delete'], 'unknown action "delete"; use "create"'],
    [['keys', 'create', '--tenant', 'Team A'], '--tenant must be lower-case letters'],
  ])('weir %j is wrong usage', async (words, message) => {
    const { code, stdout, stderr } = await weir(words)
    expect(stderr).toContain(message)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })

  test.each([
    [['status'], 'no gateway at http://127.0.0.1:1 (ECONNREFUSED): start one with "weir run"'],
    [['drain', 'b'], 'no gateway at http://127.0.0.1:1 (ECONNREFUSED): start one with "weir run"'],
  ])('weir %j without a gateway', async (words, message) => {
    const { code, stderr } = await weir([...words, '--admin', '127.0.0.1:1'])
    expect(stderr).toContain(message)
    expect(code).toBe(1)
  })

  test('status of something that is no gateway', async () => {
    const server = createServer((_, response) => response.end('{"hello": 1}')).listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const { code, stderr } = await weir(['status', '--admin', `http://127.0.0.1:${port}`])
    server.close()
    expect(stderr).toContain('is no gateway of this kind; check --admin')
    expect(code).toBe(1)
  })

  test('the demo model alone', async () => {
    const demo = new WeirProcess(['demo', '--port', '0'])
    try {
      await demo.says(/demo model on http:\S+\n/)
      const url = /demo model on (\S+)/.exec(demo.stderr)![1]
      expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'demo' }] })
      demo.signal('SIGTERM')
      expect((await demo.ended).code).toBe(0)
    } finally {
      await demo.stop(0)
    }
  })
})

describe('validate', () => {
  const good =
    backend('b', credential) +
    route('r') +
    tenant('t', keyed) +
    'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {token: abc}\n'

  test('a sound file and a sound folder', async () => {
    write('good.yaml', good)
    const file = await weir(['validate', '-f', 'good.yaml'], { cwd: folder })
    expect(file).toMatchObject({ code: 0, stdout: '4 objects are valid\n', stderr: '' })
    rmSync(join(folder, 'good.yaml'))
    write(
      'one.json',
      JSON.stringify({
        apiVersion: 'weir.dev/v1alpha1',
        kind: 'LLMTenant',
        metadata: { name: 't' },
        spec: { anonymous: true },
      }),
    )
    const one = await weir(['validate', '-f', folder])
    rmSync(join(folder, 'one.json'))
    expect(one).toMatchObject({ code: 0, stdout: '1 object is valid\n', stderr: '' })
  })

  const at = (line: number, column: number) => `bad.yaml:${line}:${column}: `
  test.each([
    [
      'unknown field',
      backend('b', ', retires: 3'),
      `${at(4, 68)}ModelBackend default/b: spec.retires is an unknown field`,
    ],
    [
      'wrong type',
      backend('b', ', queue: {depth: "9"}'),
      `${at(4, 83)}ModelBackend default/b: spec.queue.depth must be a whole number`,
    ],
    ['malformed YAML', `${backend('b')}spec: [\n`, 'not valid YAML'],
    [
      'unknown kind',
      backend('b').replace('ModelBackend', 'ModelBackends'),
      `${at(2, 7)}kind must be one of ModelBackend`,
    ],
    [
      'duplicate name',
      backend('b') + backend('b'),
      `${at(8, 18)}ModelBackend default/b is defined twice; the first stands at bad.yaml:1:1`,
    ],
    [
      'two anonymous tenants',
      tenant('a', '{anonymous: true}') + tenant('b', '{anonymous: true}'),
      `${at(9, 19)}LLMTenant default/b: `,
    ],
    ['absent Secret', backend('b', credential), `${at(4, 126)}ModelBackend default/b: `],
    [
      'absent key',
      `${tenant('t', keyed)}apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {other: x}\n`,
      'LLMTenant default/t: ',
    ],
    [
      'reference to an object that is not valid',
      backend('b', ', retires: 3') + route('r'),
      'LLMRoute default/r: ModelBackend default/b is not accepted',
    ],
    ['absent backend', route('r'), 'bad.yaml:4:41: LLMRoute default/r: '],
    ['conflicting routes', backend('b') + route('r1') + route('r2'), 'LLMRoute default/r2: '],
    [
      'absent Secret',
      backend('b', credential),
      'credential c: Secret default/s (key token) was not found; create it\n',
    ],
    ['absent file', '', 'absent.yaml: no such file or folder'],
  ])('%s', async (_, text, expected) => {
    write('bad.yaml', text)
    const { code, stdout, stderr } = await weir(['validate', '-f', text ? 'bad.yaml' : 'absent.yaml'], { cwd: folder })
    expect(stdout).toContain(expected)
    expect(stdout).toMatch(/\n\d+ problems?\n$/)
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  })

  test('an object of another gateway is a warning, not ignored in silence', async () => {
    write('bad.yaml', backend('b', ', gateway: other'))
    const { code, stdout } = await weir(['validate', '-f', 'bad.yaml'], { cwd: folder })
    expect(stdout).toContain('bad.yaml:4:77: warning: ModelBackend default/b: left out')
    expect(code).toBe(0)
  })

  test('a route that works in part is a warning', async () => {
    write('bad.yaml', backend('b') + route('r1') + route('r2', '{match: {models: [m, n]}, backends: [{name: b}]}'))
    const { code, stdout } = await weir(['validate', '-f', 'bad.yaml'], { cwd: folder })
    expect(stdout).toContain('warning: LLMRoute default/r2: ')
    expect(stdout).toContain('3 objects are valid\n')
    expect(code).toBe(0)
  })
})

describe('keys create', () => {
  test('YAML on stdout that validates, the key on stderr too', async () => {
    const { code, stdout, stderr } = await weir(['keys', 'create', '--tenant', 'team-a', '--name', 'k2', '-n', 'apps'])
    expect(code).toBe(0)
    const key = /token: (weir_\S+)/.exec(stdout)![1]!
    expect(stderr).toContain(`${key} is the new key of team-a`)
    write('keys.yaml', stdout)
    expect((await weir(['validate', '-f', 'keys.yaml'], { cwd: folder })).stdout).toBe('2 objects are valid\n')
  })
})
