import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StatusAnswer } from '../../cli/admin-client.ts'
import { type Demo, startDemo } from '../../demo/server.ts'
import { runWeir as weir } from '../kit/program.ts'
import { WeirProcess } from './weir-process.ts'

let folder: string
let demo: Demo
let gateway: WeirProcess
let url: string
let admin: string

const head = (kind: string, name: string) =>
  `apiVersion: weir.dev/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\n`
const backend = (name: string, annotation = '', extra = '') =>
  `${head('ModelBackend', name)}${annotation}spec:\n  provider: OpenAI\n  endpoint: {url: "${demo.url}/v1"}\n${extra}---\n`
const route = (model: string, target: string) =>
  `${head('LLMRoute', model)}spec:\n  match: {models: [${model}]}\n  backends: [{name: ${target}, model: demo}]\n---\n`
const tenant = `${head('LLMTenant', 'all')}spec: {anonymous: true, apiKeys: [{name: k, secretRef: {name: s, key: token}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {token: tenant-secret}
---
`
const credential = `  headers: [{name: x-proxy-key, value: header-secret}]
  credentials: [{name: c, type: APIKey, apiKey: {secretRef: {name: s, key: token}}}]
`
const base = () =>
  backend('one', '', credential) +
  backend('two', '  annotations: {weir.dev/drain: broken}\n') +
  backend('three') +
  route('m', 'one') +
  route('n', 'two') +
  route('o', 'three') +
  tenant
const write = (text: string) => writeFileSync(join(folder, 'weir.yaml'), text)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-drain-'))
  demo = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 20 })
  write(base())
  gateway = new WeirProcess(['run', '-f', 'weir.yaml', '--port', '0', '--admin-port', '0'], { cwd: folder })
  const addresses = await gateway.listening()
  url = addresses.url
  admin = addresses.admin
})
afterAll(async () => {
  await gateway.stop(0)
  await demo.close(0)
  rmSync(folder, { recursive: true })
})

const call = (...words: string[]) => weir([...words, '--admin', admin])
const status = async () => (await (await fetch(`${admin}/status`)).json()) as StatusAnswer
const generation = async () => (await status()).config!.generation!
const stream = (model: string, count: number) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: `count to ${count}` }] }),
  })
const statusOf = async (model: string) => {
  const response = await stream(model, 1)
  await response.text()
  return response.status
}

test('status shows backends and resources, effective values and nothing secret', async () => {
  const { stdout, code } = await call('status')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^generation 1, ready, 0 requests in flight, 0 queued\n/)
  expect(stdout).toMatch(/\ndefault\/one +Serving +0 +0 +256 +- +-\n/)
  expect(stdout).toMatch(/\nLLMRoute +default\/m +1 +True +Ready\n/)

  const json = await call('status', '-o', 'json')
  expect(json.stdout).not.toMatch(/tenant-secret|header-secret|sha256/)
  const { resources } = JSON.parse(json.stdout)
  const one = resources.find((each: { name: string }) => each.name === 'one')
  expect(one).toMatchObject({
    kind: 'ModelBackend',
    namespace: 'default',
    generation: 1,
    servedGeneration: 1,
    file: 'weir.yaml:1:1',
    effective: { queueDepth: 256, credentials: [{ name: 'c', weight: 1 }], headers: [{ name: 'x-proxy-key' }] },
  })
  expect(one.conditions.map((each: { type: string; status: string }) => `${each.type}=${each.status}`)).toEqual([
    'Ready=True',
    'Accepted=True',
    'ResolvedRefs=True',
    'Programmed=True',
  ])
})

test('status --watch asks again and again', async () => {
  const watch = new WeirProcess(['status', '--watch', '-o', 'json', '--admin', admin])
  try {
    await watch.until(() => watch.stdout.split('\n').length > 2, 'two answers')
    for (const line of watch.stdout.split('\n').slice(0, 2)) expect(JSON.parse(line)).toMatchObject({ ready: true })
  } finally {
    await watch.stop(0)
  }
})

test('a drain lets the streams end, and its undoing puts the backend back', async () => {
  const answer = await stream('m', 60)
  const text = answer.text()
  expect((await call('drain', 'one')).stdout).toMatch(/^default\/one is draining: 1 request left \(demo 1\)/)
  expect(await statusOf('m')).toBe(503)
  const waited = await call('drain', 'default/one', '--wait')
  expect(waited).toMatchObject({ code: 0, stdout: expect.stringMatching(/default\/one is drained\n$/) })
  expect(await text).toMatch(/60[\s\S]*\[DONE\]/)
  expect(await call('drain', 'one', '--undo')).toMatchObject({ code: 0, stdout: 'default/one is back in service\n' })
  expect(await statusOf('m')).toBe(200)
})

test('a drain that is asked for twice keeps its deadline', async () => {
  const post = async () => {
    const response = await fetch(`${admin}/drain/default/three`, { method: 'POST' })
    return (await response.json()) as { deadline: string }
  }
  const first = await post()
  expect(first).toMatchObject({ kind: 'ModelBackend', namespace: 'default', name: 'three', draining: true })
  expect(Date.parse(first.deadline)).toBeGreaterThan(Date.now() + 590_000)
  const before = await generation()
  expect((await post()).deadline).toBe(first.deadline)
  expect(await generation()).toBe(before)
  expect((await call('drain', 'three', '--undo')).code).toBe(0)
})

test('a backend that does not exist: the answer names those that do', async () => {
  const { code, stderr } = await call('drain', 'four', '--namespace', 'apps')
  expect(stderr).toContain('there is no ModelBackend apps/four; there are default/one, default/three, default/two')
  expect(code).toBe(1)
})

test('a drain by annotation is undone where it is written', async () => {
  expect(await statusOf('n')).toBe(503)
  const { code, stderr } = await call('drain', 'two', '--undo')
  expect(stderr).toMatch(/it is drained by its own annotation weir\.dev\/drain at weir\.yaml:15:33; remove that/)
  expect(code).toBe(1)
})

test('a web page cannot drain', async () => {
  const headers = { origin: 'https://example.com' }
  const response = await fetch(`${admin}/drain/default/one`, { method: 'POST', headers })
  expect(response.status).toBe(403)
  expect(await statusOf('m')).toBe(200)
})

test('an edit while a backend is drained by hand does not end the drain', async () => {
  await call('drain', 'three')
  const before = await generation()
  write(base() + route('extra', 'one'))
  await gateway.until(async () => (await generation()) > before, 'the edit applied')
  expect(await statusOf('o')).toBe(503)
  expect(await statusOf('extra')).toBe(200)
})

test('a backend whose document is removed finishes its streams; one that comes back is new', async () => {
  const uid = async () => (await status()).backends.find(each => each.name === 'one')?.uid
  const first = await uid()
  const answer = await stream('m', 100)
  const text = answer.text()
  const without = base()
    .replace(backend('one', '', credential), '')
    .replace(route('m', 'one'), '')
  write(without)
  await gateway.until(async () => (await statusOf('m')) === 404, 'the route gone')
  write(base())
  await gateway.until(async () => (await statusOf('m')) === 200, 'the route back')
  expect(await text).toMatch(/100[\s\S]*\[DONE\]/)
  await gateway.until(async () => (await uid()) !== first, 'the old backend closed')
  expect(await uid()).toBeTruthy()
})

test('an invalid edit is told in the status with its place and the generation that serves', async () => {
  write(base().replace('  provider: OpenAI', '  provider: OpenAy'))
  const resource = async () => (await status()).resources!.find(each => each.name === 'one')!
  await gateway.until(async () => (await resource()).generation !== (await resource()).servedGeneration, 'the edit')
  expect((await resource()).conditions.slice(0, 2)).toEqual([
    { type: 'Ready', status: 'False', reason: 'Invalid', message: expect.stringMatching(/^weir\.yaml:6:13: .*OpenAI/) },
    { type: 'Accepted', status: 'False', reason: 'Invalid', message: expect.stringMatching(/^weir\.yaml:6:13: /) },
  ])
  expect((await call('status')).stdout).toMatch(/ModelBackend +default\/one +2 +False +Invalid +weir\.yaml:6:13/)
  expect(await statusOf('m')).toBe(200)
})
