import { describe, expect, test } from 'vitest'
import { formatPath } from './path.ts'
import { validateObject } from './validate.ts'

const backend = {
  apiVersion: 'weir.dev/v1alpha1',
  kind: 'ModelBackend',
  metadata: { name: 'openai' },
  spec: { provider: 'OpenAI', endpoint: { url: 'https://api.openai.com/v1' } },
}

function problems(doc: unknown): string[] {
  return validateObject(doc).problems.map(({ code, path, message }) => `${code} ${formatPath(path)}: ${message}`)
}

function withSpec(spec: Record<string, unknown>): unknown {
  return { ...backend, spec: { ...backend.spec, ...spec } }
}

describe('the document', () => {
  test('a valid one comes back with its identity', () => {
    expect(validateObject(backend)).toEqual({ object: backend, problems: [] })
  })

  test.each([
    [null, 'empty (null)'],
    [[], 'a list'],
    ['x', 'a string'],
    [undefined, 'absent'],
  ])('%j is no object', (doc, is) => {
    expect(problems(doc)).toEqual([`WrongType : must be an object, is ${is}`])
  })

  test('an empty one lacks everything', () => {
    expect(problems({})).toEqual([
      'ApiVersion apiVersion: is required: weir.dev/v1alpha1',
      'UnknownKind kind: is required: one of ModelBackend, LLMRoute, RateLimitPolicy, LLMTenant',
      'Metadata metadata.name: is required',
    ])
  })

  test('a wrong kind lists the four and names the nearest', () => {
    expect(problems({ ...backend, kind: 'LlmRoutes' })).toEqual([
      'UnknownKind kind: must be one of ModelBackend, LLMRoute, RateLimitPolicy, LLMTenant, is "LlmRoutes"; did you mean LLMRoute?',
    ])
  })

  test('another version of the API', () => {
    expect(problems({ ...backend, apiVersion: 'weir.dev/v1' })).toEqual([
      'ApiVersion apiVersion: must be weir.dev/v1alpha1, is "weir.dev/v1"',
    ])
  })

  test('an unknown field at the top', () => {
    expect(problems({ ...backend, extra: {} })).toEqual(['UnknownField extra: is an unknown field'])
    expect(
      problems({ apiVersion: backend.apiVersion, kind: backend.kind, metadata: backend.metadata, sepc: {} }),
    ).toEqual(['UnknownField sepc: is an unknown field; did you mean spec?', 'Required spec: is required'])
  })

  test('status is ignored, whatever it holds', () => {
    expect(problems({ ...backend, status: { conditions: 'none' } })).toEqual([])
  })

  test('an object with a wrong spec keeps its identity, one with a wrong name does not', () => {
    const wrong = { ...backend, spec: {} }
    expect(validateObject(wrong).object).toEqual(wrong)
    expect(validateObject({ ...backend, metadata: { name: 'A' } }).object).toBeUndefined()
  })
})

describe('metadata', () => {
  const withMetadata = (metadata: unknown) => problems({ ...backend, metadata })

  test('what the API server sets is ignored and dropped', () => {
    const metadata = { name: 'a', uid: 'u', resourceVersion: '1', generation: 2, managedFields: [], finalizers: ['x'] }
    expect(validateObject({ ...backend, metadata })).toEqual({
      object: { ...backend, metadata: { name: 'a' } },
      problems: [],
    })
  })

  test('labels and annotations are kept', () => {
    const metadata = { name: 'a', namespace: 'b', labels: { x: '1' }, annotations: { 'weir.dev/drain': 'why' } }
    expect(validateObject({ ...backend, metadata }).object?.metadata).toEqual(metadata)
  })

  test('names and namespaces have a form', () => {
    expect(withMetadata({ name: 'My_Backend', namespace: 'a.b' })).toEqual([
      'Metadata metadata.name: must be lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit',
      'Metadata metadata.namespace: must be lower-case letters, digits and "-", beginning and ending with a letter or digit',
    ])
    expect(withMetadata({ name: 7 })).toEqual(['Metadata metadata.name: must be a string, is 7'])
    expect(withMetadata({ name: '' })).toEqual(['Metadata metadata.name: must not be empty'])
    expect(withMetadata({ name: 'a'.repeat(254) })).toEqual(['Metadata metadata.name: is too long'])
    expect(withMetadata('a')).toEqual(['Metadata metadata: must be an object, is a string'])
  })

  test('an annotation that YAML took for a boolean', () => {
    expect(withMetadata({ name: 'a', annotations: { x: true }, labels: [] })).toEqual([
      'Metadata metadata.labels: must be an object, is a list',
      'Metadata metadata.annotations.x: must be a string, is true; put it in quotes',
    ])
  })

  test('an unknown field', () => {
    expect(withMetadata({ name: 'a', annotaions: {} })).toEqual([
      'UnknownField metadata.annotaions: is an unknown field; did you mean annotations?',
    ])
  })
})

describe('the spec, in words', () => {
  test.each([
    [
      { concurrency: { max: '3' } },
      'WrongType spec.concurrency.max: must be a whole number, is a string; remove the quotes',
    ],
    [{ concurrency: { max: 'many' } }, 'WrongType spec.concurrency.max: must be a whole number, is a string'],
    [{ concurrency: { max: 1.5 } }, 'WrongType spec.concurrency.max: must be a whole number, is 1.5'],
    [{ concurrency: { max: 1e300 } }, 'InvalidValue spec.concurrency.max: must be at most 100000, is 1e+300'],
    [{ concurrency: { max: 0 } }, 'InvalidValue spec.concurrency.max: must be at least 1, is 0'],
    [{ gateway: 5 }, 'WrongType spec.gateway: must be a string, is 5; put it in quotes'],
    [{ timeouts: null }, 'WrongType spec.timeouts: must be an object, is empty (null)'],
    [{ headers: {} }, 'WrongType spec.headers: must be a list, is an object'],
    [{ endpoint: undefined }, 'Required spec.endpoint: is required'],
    [{ endpoint: {} }, 'Required spec.endpoint.url: is required'],
    [
      { provider: 'Openai' },
      'InvalidValue spec.provider: must be OpenAI or Anthropic, is "Openai"; did you mean OpenAI?',
    ],
    [{ provider: undefined }, 'Required spec.provider: is required'],
    [
      { drain: { timeout: '5 min' } },
      'InvalidValue spec.drain.timeout: must be a duration such as 30s, 1m30s or 250ms',
    ],
    [{ drain: { timeout: '200h' } }, 'InvalidValue spec.drain.timeout: must be at most 168h'],
    [
      { allowedNamespaces: Array(65).fill('a') },
      'InvalidValue spec.allowedNamespaces: must have at most 64 items, has 65',
    ],
    [{ gateway: 'a'.repeat(64) }, 'InvalidValue spec.gateway: must have at most 63 characters, has 64'],
    [{ conurrency: {} }, 'UnknownField spec.conurrency: is an unknown field; did you mean concurrency?'],
  ])('%j', (spec, problem) => {
    expect(problems(withSpec(spec))).toEqual([problem])
  })

  test('several problems are all reported, one for each place', () => {
    const spec = {
      provider: 'X',
      endpoint: { ulr: 'https://a' },
      credentials: [{ name: 'A', type: 'APIKey' }, {}],
      timeouts: { total: 'soon', idle: '0s' },
    }
    expect(problems({ ...backend, spec })).toEqual([
      'UnknownField spec.endpoint.ulr: is an unknown field; did you mean url?',
      'InvalidValue spec.provider: must be OpenAI or Anthropic, is "X"',
      'Required spec.endpoint.url: is required',
      'InvalidValue spec.credentials[0].name: must be lower-case letters, digits and "-", beginning and ending with a letter or digit',
      'InvalidValue spec.credentials[0].apiKey: is required when type is APIKey',
      'Required spec.credentials[1].name: is required',
      'Required spec.credentials[1].type: is required',
      'InvalidValue spec.timeouts.idle: must be longer than 0s',
      'InvalidValue spec.timeouts.total: must be a duration such as 30s, 1m30s or 250ms',
    ])
  })

  test('values of secrets do not appear when they stand in the wrong place', () => {
    const spec = { credentials: [{ name: 'a', type: 'APIKey', apiKey: 'sk-very-secret' }] }
    expect(problems(withSpec(spec)).join()).not.toContain('very-secret')
  })

  test('the same rule broken in one document after another keeps its path', () => {
    const spec = { headers: [{ name: 'connection', value: 'x' }] }
    const first = validateObject(withSpec(spec)).problems
    expect(validateObject(withSpec(spec)).problems).toEqual(first)
    expect(first.map(problem => problem.path)).toEqual([['spec', 'headers', 0, 'name']])
  })
})
