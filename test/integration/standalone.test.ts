import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Demo, startDemo } from '../../demo/server.ts'
import { type Output, runWeir as weir } from '../kit/program.ts'
import { WeirProcess } from './weir-process.ts'

let folder: string
let demo: Demo
let running: WeirProcess[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-run-'))
  demo = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 20 })
  running = []
})
afterEach(async () => {
  await Promise.all(running.map(each => each.stop(0)))
  await demo.close(0)
  rmSync(folder, { recursive: true })
})

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const head = (kind: string, name: string) =>
  `apiVersion: weir.dev/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec:\n`
const backend = (name: string, extra = '') =>
  `${head('ModelBackend', name)}  provider: OpenAI\n  endpoint: {url: "${demo.url}/v1"}\n${extra}---\n`
const route = (name: string, models: string, target: string) =>
  `${head('LLMRoute', name)}  match: {models: [${models}]}\n  backends: [{name: ${target}, model: demo}]\n---\n`
const keyed = (name: string, key: string) =>
  `${head('LLMTenant', name)}  apiKeys: [{name: k, secretRef: {name: ${name}, key: token}}]\n---\n` +
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\nstringData: {token: ${key}}\n---\n`

interface Running extends WeirProcess {
  url: string
  admin: string
}

async function run(words: string[] = ['-f', 'weir.yaml'], environment: Record<string, string> = {}): Promise<Running> {
  const started = new WeirProcess(['run', '--port', '0', '--admin-port', '0', ...words], {
    cwd: folder,
    env: environment,
  })
  running.push(started)
  return Object.assign(started, await started.listening())
}

function chat(url: string, model: string, { content = 'Hello', stream = false, key = '' } = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
  })
}

const statusOf = async (url: string, model: string, options = {}) => {
  const response = await chat(url, model, options)
  await response.text()
  return response.status
}

describe('without files', () => {
  test('the printed curl line works, in both dialects, and stdout carries only the log', async () => {
    const gateway = await run([])
    expect(gateway.stderr).toContain('applied generation 1 (1 route, 2 backends)\nlistening on ')
    await gateway.says(/curl \S+/)
    const [, url, body] = /curl (\S+) -H 'content-type: application\/json' -d '(.*)'/.exec(gateway.stderr)!
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url!, { method: 'POST', headers, body: body! })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      object: 'chat.completion',
      usage: { total_tokens: expect.any(Number) },
    })
    const message = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { ...headers, 'anthropic-version': '2023-06-01', 'x-api-key': 'any' },
      body: JSON.stringify({ model: 'demo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] }),
    })
    expect(await message.json()).toMatchObject({ type: 'message' })

    gateway.signal('SIGINT')
    const { code, stdout } = await gateway.ended
    expect(code).toBe(0)
    const log = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(log.map(line => [line.status, line.backend])).toEqual([
      [200, 'default/demo-openai'],
      [200, 'default/demo-anthropic'],
    ])
  })

  test('a provider whose variables are set is served', async () => {
    const gateway = await run([], { OPENAI_API_KEY: 'sk-secret', OPENAI_BASE_URL: `${demo.url}/v1` })
    expect(gateway.stderr).toContain('applied generation 1 (2 routes, 3 backends)')
    // The demo knows no such model; its own error shows that the request got there.
    const answer = await chat(gateway.url, 'gpt-4o')
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringContaining('The demo serves one model') },
    })
    const status = await (await fetch(`${gateway.admin}/status`)).text()
    expect(status + gateway.stderr).not.toContain('sk-secret')
  })

  test('a base URL that is none ends it with a message', async () => {
    const { code, stderr } = await weir(['run', '--port', '0'], {
      env: { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'nonsense' },
    })
    expect(stderr).toMatch(/^weir: OPENAI_BASE_URL must be .*; correct it or unset it\n$/)
    expect(code).toBe(1)
  })
})

describe('start', () => {
  const refused = (name: string, text: string): Promise<Output> => {
    write(name, text)
    return weir(['run', '-f', name, '--port', '0', '--admin-port', '0'], { cwd: folder })
  }

  test('every problem is listed, and nothing is served', async () => {
    const { code, stdout, stderr } = await refused(
      'weir.yaml',
      backend('b', '  retires: 1\n') + route('r', 'm', 'absent') + keyed('t', 'k').replace('{token', '{tokens'),
    )
    expect(stderr.split('\n')).toEqual([
      'weir.yaml:8:3: ModelBackend default/b: spec.retires is an unknown field',
      expect.stringMatching(/^weir\.yaml:16:14: LLMRoute default\/r: ModelBackend default\/absent was not found/),
      expect.stringMatching(/^weir\.yaml:23:34: LLMTenant default\/t: .*Secret default\/t has no key token/),
      'weir: not started because of 3 problems',
      '',
    ])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  })

  test.each([
    ['malformed YAML', 'a: [', 'not valid YAML'],
    ['unknown kind', 'apiVersion: v1\nkind: Pod\n', 'weir.yaml:2:7: kind must be one of'],
    ['duplicate name', () => backend('b') + backend('b'), 'weir.yaml:12:9: ModelBackend default/b is defined twice'],
    [
      'two anonymous tenants',
      ['a', 'b'].map(name => `${head('LLMTenant', name)}  anonymous: true\n---\n`).join(''),
      'LLMTenant default/b: ',
    ],
    [
      'variable that is not set',
      keyed('t', `"$\{WEIR_TEST_ABSENT}"`),
      'the environment variable WEIR_TEST_ABSENT is not set',
    ],
  ])('%s', async (_, text, message) => {
    const { code, stderr } = await refused('weir.yaml', typeof text === 'string' ? text : text())
    expect(stderr).toContain(message)
    expect(stderr).toContain('weir: not started because of 1 problem\n')
    expect(code).toBe(1)
  })

  test.each(['--port', '--admin-port'])('%s in use: says so and what to do', async option => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const ports = ['--port', '0', '--admin-port', '0', option, String(port)]
    const { code, stderr } = await weir(['run', ...ports])
    server.close()
    expect(stderr).toContain(`weir: port ${port} on 127.0.0.1 is in use: end the program that listens there, or choose`)
    expect(stderr).toContain(`another port with ${option}\n`)
    expect(code).toBe(1)
  })
})

describe('files that change', () => {
  test('a good edit is applied, a bad one is shown with its place while the last good version serves', async () => {
    write('weir.yaml', backend('b') + route('r', 'm', 'b'))
    const gateway = await run()
    expect(gateway.stderr).toContain('warning: there is no LLMTenant, so every caller may use every route')
    expect(await statusOf(gateway.url, 'n')).toBe(404)
    write('weir.yaml', backend('b') + route('r', 'm, n', 'b') + route('s', 'o', 'b'))
    await gateway.says('applied generation 2 (2 routes, 1 backend)')
    expect(await statusOf(gateway.url, 'n')).toBe(200)

    write('weir.yaml', backend('b') + route('r', 'n', 'b').replace('match', 'mtch') + route('s', 'o, p', 'b'))
    await gateway.says('weir.yaml:14:3: LLMRoute default/r: spec.mtch is an unknown field; did you mean match?')
    await gateway.says('applied generation 3 (2 routes, 1 backend)')
    expect(await Promise.all(['m', 'n', 'o', 'p'].map(model => statusOf(gateway.url, model)))).toEqual([
      200, 200, 200, 200,
    ])

    write('weir.yaml', 'a: [')
    await gateway.says('weir.yaml:1:5: not valid YAML')
    expect(await statusOf(gateway.url, 'm')).toBe(200)
    write('weir.yaml', backend('b') + route('s', 'o', 'b'))
    await gateway.says('no problems left')
    await gateway.says('applied generation 4 (1 route, 1 backend)')
    expect(await statusOf(gateway.url, 'm')).toBe(404)
  })

  test('a save without a change of meaning applies nothing', async () => {
    write('weir.yaml', backend('b') + route('r', 'm', 'b'))
    const gateway = await run()
    write('weir.yaml', `# a comment\n${backend('b')}${route('r', '"m"', 'b')}`)
    renameSync(join(folder, 'weir.yaml'), join(folder, 'old'))
    renameSync(join(folder, 'old'), join(folder, 'weir.yaml'))
    await new Promise(resolve => setTimeout(resolve, 1_500))
    write('weir.yaml', backend('b') + route('r', 'other', 'b'))
    await gateway.says(/applied generation \d+ .*\n(.*\n)*applied generation 2 \(1 route, 1 backend\)/)
  })

  test('an object that loses what it refers to is reported once, and again after it was mended', async () => {
    write('a.yaml', backend('b'))
    write('b.yaml', route('r', 'm', 'b'))
    const gateway = await run(['-f', '.'])
    rmSync(join(folder, 'a.yaml'))
    await gateway.says(/b\.yaml:7:14: LLMRoute default\/r: ModelBackend default\/b was not found/)
    expect(await statusOf(gateway.url, 'm')).toBe(503)
    write('a.yaml', backend('b'))
    await gateway.says('no problems left')
    expect(await statusOf(gateway.url, 'm')).toBe(200)
    expect(gateway.stderr.match(/was not found/g)).toHaveLength(1)
  })

  test('a tenant that appears asks for keys; the last one that goes does not open the gateway', async () => {
    const open = backend('b') + route('r', 'm', 'b')
    write('weir.yaml', open)
    const gateway = await run()
    expect(await statusOf(gateway.url, 'm', { key: 'any' })).toBe(200)
    write('weir.yaml', open + keyed('t', 'secret-1'))
    await gateway.says('applied generation 2')
    expect(await statusOf(gateway.url, 'm')).toBe(401)
    expect(await statusOf(gateway.url, 'm', { key: 'secret-1' })).toBe(200)
    write('weir.yaml', open)
    await gateway.says('warning: there is no LLMTenant any more, so every caller is refused')
    expect(await statusOf(gateway.url, 'm')).toBe(401)
    expect(await statusOf(gateway.url, 'm', { key: 'secret-1' })).toBe(401)
    expect(gateway.stderr + gateway.stdout).not.toContain('secret-1')
  })

  test('a key that is taken out by an edit with a typing error elsewhere is revoked all the same', async () => {
    const open = backend('b') + route('r', 'm', 'b')
    const kept =
      'apiVersion: weir.dev/v1alpha1\nkind: LLMTenant\nmetadata: { name: other }\nspec: { apiKeys: [] }\n---\n'
    write('weir.yaml', kept + open + keyed('t', 'secret-1'))
    const gateway = await run()
    expect(await statusOf(gateway.url, 'm', { key: 'secret-1' })).toBe(200)
    const broken = `${head('LLMTenant', 't')}  apiKeys: []\n  anonymus: true\n---\n`
    write('weir.yaml', kept + open + broken)
    await gateway.says('spec.anonymus is an unknown field')
    expect(await statusOf(gateway.url, 'm', { key: 'secret-1' })).toBe(401)
  })
})

describe('end', () => {
  test('SIGTERM under a stream: it ends complete, exit code 0', async () => {
    write('weir.yaml', backend('b') + route('r', 'm', 'b'))
    const gateway = await run()
    const answer = await chat(gateway.url, 'm', { content: 'count to 40', stream: true })
    const text = answer.text()
    gateway.signal('SIGTERM')
    await gateway.says('finishing 1 request, at most 10m; once more ends at once')
    expect(await text).toMatch(/40[\s\S]*\[DONE\]/)
    const { code, stdout } = await gateway.ended
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ status: 200, outcome: 'Served' })
  })

  test('a signal repeated by npm is one signal; a later one ends at once', async () => {
    write('weir.yaml', backend('b') + route('r', 'm', 'b'))
    const gateway = await run()
    const answer = await chat(gateway.url, 'm', { content: 'count to 2000', stream: true })
    const text = answer.text().catch(() => 'cut')
    gateway.signal('SIGINT')
    gateway.signal('SIGINT')
    await gateway.says('finishing 1 request')
    await new Promise(resolve => setTimeout(resolve, 700))
    gateway.signal('SIGINT')
    expect((await gateway.ended).code).toBe(130)
    expect(await text).toBe('cut')
  })
})
