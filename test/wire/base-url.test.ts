import { expect, test } from 'vitest'
import { jsonRequest, jsonResponse } from '../fakes/bytes.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { write } from '../fakes/steps.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { ANTHROPIC, OPENAI } from './formats.ts'
import { stage } from './stage.ts'

/** What stands behind the origin in a backend's base URL, and the path and query that the upstream must be asked for. */
const OPENAI_URLS: [string, string, string][] = [
  ['', '/v1/chat/completions', ''],
  ['/', '/v1/chat/completions', ''],
  ['/v1', '/v1/chat/completions', ''],
  ['/v1/', '/v1/chat/completions', ''],
  ['?api-version=x', '/v1/chat/completions', 'api-version=x'],
  ['/v1?api-version=x', '/v1/chat/completions', 'api-version=x'],
  ['/v1/?api-version=x', '/v1/chat/completions', 'api-version=x'],
  ['/openai/deployments/d?api-version=x&y', '/openai/deployments/d/chat/completions', 'api-version=x&y'],
  ['/compatible%20mode/v1', '/compatible%20mode/v1/chat/completions', ''],
]
const ANTHROPIC_URLS: [string, string, string][] = [
  ['', '/v1/messages', ''],
  ['/', '/v1/messages', ''],
  ['/v1', '/v1/messages', ''],
  ['/v1/', '/v1/messages', ''],
  ['/anthropic/', '/anthropic/v1/messages', ''],
  ['/anthropic/v1?k=x', '/anthropic/v1/messages', 'k=x'],
]
const CASES = [
  ...OPENAI_URLS.map(([suffix, path, query], i) => ({ format: OPENAI, name: `openai-${i}`, suffix, path, query })),
  ...ANTHROPIC_URLS.map(([suffix, path, query], i) => ({
    format: ANTHROPIC,
    name: `anthropic-${i}`,
    suffix,
    path,
    query,
  })),
]

const s = stage(['up'], ({ up }) =>
  yamlFile(
    ...CASES.flatMap(({ format, name, suffix }) => [
      backendYaml({ name, url: `${up}${suffix}`, provider: format.provider }),
      routeYaml({ name, models: [name], backends: [name] }),
    ]),
  ),
)

test.each(CASES)(
  'wire case 19: $format.dialect at …$suffix is asked for $path once, queries kept',
  async ({ format, name, path, query }) => {
    const clientQueries = ['', '?', '?beta=true', '?a=%2F+%20ü&a&b=1?2'.replace('ü', '%C3%BC')]
    for (const slash of ['', '/']) {
      for (const clientQuery of clientQueries) {
        s.upstreams.up.script([write(jsonResponse(200, format.answer))])
        const bytes = jsonRequest(`${format.path}${slash}${clientQuery}`, { model: name })
        expect((await rawRequest(s.weir.url, bytes)).status).toBe(200)
        const all = [query, clientQuery.slice(1)].filter(part => part !== '').join('&')
        expect(s.requests('up').at(-1)!.path).toBe(path + (all && `?${all}`))
      }
    }
  },
)
