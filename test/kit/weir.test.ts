import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Demo, startDemo } from '../../demo/server.ts'
import { runWeir } from './program.ts'
import { quietStatus } from './quiet.ts'
import { backendYaml, routeYaml } from './resources.ts'
import { startWeir } from './weir.ts'

let demo: Demo
beforeEach(async () => {
  demo = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 0 })
})
afterEach(() => demo.close(0))

const files = () => ({
  'backend.yaml': backendYaml({ name: 'demo', url: demo.url }),
  'route.yaml': routeYaml({ name: 'chat', models: ['demo'], backends: ['demo'] }),
})

function ask(url: string, model = 'demo'): Promise<Response> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] })
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
}

test('starts the program, answers, logs, reports, and stops', async () => {
  const weir = await startWeir({ files: files() })
  expect(weir.generation).toBe(1)
  expect((await ask(weir.url)).status).toBe(200)
  expect(await weir.waitForLog(line => line.status === 200)).toMatchObject({
    backend: 'default/demo',
    outcome: 'Served',
  })
  expect((await quietStatus(weir)).backends).toMatchObject([{ name: 'demo', state: 'Serving' }])
  expect(await weir.metrics()).toContain('weir_requests_total')
  expect(weir.logs).toHaveLength(1)
  expect(await weir.stop()).toEqual({ code: 0, signal: null })
  expect(existsSync(weir.folder)).toBe(false)
  expect(() => process.kill(weir.pid, 0)).toThrow('ESRCH')
})

test('edits and removals are waited for', async () => {
  const weir = await startWeir({ files: files() })
  expect((await ask(weir.url, 'other')).status).toBe(404)
  await weir.edit(
    'second.yaml',
    routeYaml({ name: 'second', models: ['other'], backends: [{ name: 'demo', model: 'demo' }] }),
  )
  expect(await weir.waitForApplied()).toBe(2)
  expect((await ask(weir.url, 'other')).status).toBe(200)
  await weir.remove('second.yaml')
  expect(await weir.waitForApplied()).toBe(3)
  expect((await ask(weir.url, 'other')).status).toBe(404)
  expect(await readdir(weir.folder)).toEqual(['backend.yaml', 'route.yaml'])
})

test('a folder is copied, so that edits leave the original alone', async () => {
  const original = await startWeir({ files: files() })
  const copy = await startWeir({ files: original.folder })
  await copy.remove('route.yaml')
  await copy.waitForApplied()
  expect(await readdir(original.folder)).toEqual(['backend.yaml', 'route.yaml'])
})

test('a bad edit shows on stderr, and is not taken for an applied one', async () => {
  const weir = await startWeir({ files: files() })
  await weir.edit('route.yaml', 'kind: [')
  expect(await weir.waitForStderr(/route\.yaml:\d+:\d+: /)).toContain(weir.folder)
  expect(weir.generation).toBe(1)
})

test('a start that fails says what was printed, and leaves nothing', async () => {
  const failing = startWeir({
    files: { 'bad.yaml': 'apiVersion: weir.dev/v1alpha1\nkind: Nonsense\nmetadata: {name: a}\n' },
  })
  await expect(failing).rejects.toThrow(/the process ended \(1\)[\s\S]*bad\.yaml:2:\d+: .*Nonsense/)
})

test('a signal ends it, and waiting for more then fails at once', async () => {
  const weir = await startWeir({ files: files() })
  weir.signal('SIGKILL')
  expect(await weir.exited).toEqual({ code: null, signal: 'SIGKILL' })
  await expect(weir.waitForApplied(99)).rejects.toThrow(/the process ended \(SIGKILL\)[\s\S]*listening on/)
})

test('runWeir runs a command to its end', async () => {
  const weir = await startWeir({ files: files() })
  const good = await runWeir(['validate', '-f', weir.folder])
  expect(good).toMatchObject({ code: 0, signal: null })
  await writeFile(join(weir.folder, 'bad.yaml'), 'kind: [')
  const bad = await runWeir(['validate', '-f', weir.folder])
  expect(bad.code).toBe(1)
  expect(bad.stdout + bad.stderr).toContain('bad.yaml:1:')
})
