import { expect, test } from 'vitest'
import { validateObject } from '../crds/validate.ts'
import { CommandError } from './command.ts'
import { refuseLoop, starter } from './starter.ts'

const DEMO = 'http://127.0.0.1:1234'
const namesOf = (environment: Record<string, string>) =>
  starter(DEMO, environment).loaded.resources.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)

test('without keys: the demo model and a tenant for everyone', () => {
  const { loaded, notes } = starter(DEMO, {})
  expect(namesOf({})).toEqual([
    'ModelBackend demo-openai',
    'ModelBackend demo-anthropic',
    'LLMRoute demo',
    'LLMTenant anonymous',
  ])
  expect(loaded.resources.secrets).toEqual([])
  expect(notes).toEqual([
    'demo: the built-in demo model',
    'gpt-* o* text-embedding-*: set OPENAI_API_KEY to have them',
    'claude-*: set ANTHROPIC_API_KEY to have them',
  ])
})

test('a provider whose key is set has a backend, a route and a Secret', () => {
  const { loaded, notes } = starter(DEMO, { ANTHROPIC_API_KEY: ' sk-1\n' })
  expect(namesOf({ ANTHROPIC_API_KEY: 'sk-1' })).toEqual(
    expect.arrayContaining(['ModelBackend anthropic', 'LLMRoute anthropic']),
  )
  expect(loaded.resources.secrets).toEqual([
    { namespace: 'default', name: 'anthropic', labelled: true, data: { 'api-key': 'sk-1' } },
  ])
  expect(notes[2]).toBe('claude-*: https://api.anthropic.com with the key in ANTHROPIC_API_KEY')
  for (const object of loaded.resources.objects) expect(validateObject(object).problems).toEqual([])
})

test('the base URL variable is honoured, its query kept from the screen', () => {
  const url = 'https://proxy.example/v1?key=secret'
  const { loaded, notes } = starter(DEMO, { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: url })
  const backend = loaded.resources.objects.find(object => object.metadata.name === 'openai')
  expect(backend?.spec).toMatchObject({ endpoint: { url } })
  expect(notes[1]).toContain('https://proxy.example/v1 with')
  expect(JSON.stringify(notes)).not.toContain('secret')
})

test('a base URL that is none names its variable', () => {
  const attempt = () => starter(DEMO, { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'api.example.com' })
  expect(attempt).toThrow(CommandError)
  expect(attempt).toThrow(/^OPENAI_BASE_URL must be .*; correct it or unset it$/)
})

test('a base URL that is the gateway itself is refused', () => {
  const environment = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://localhost:8080/v1' }
  expect(() => refuseLoop(8080, environment)).toThrow('OPENAI_BASE_URL is the address of this gateway itself')
  expect(() => refuseLoop(8081, environment)).not.toThrow()
  expect(() => refuseLoop(8080, { OPENAI_BASE_URL: environment.OPENAI_BASE_URL })).not.toThrow()
  expect(() => refuseLoop(8080, { ...environment, OPENAI_BASE_URL: 'http://10.0.0.1:8080/v1' })).not.toThrow()
})
