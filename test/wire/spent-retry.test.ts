import { describe, expect, test } from 'vitest'
import { jsonResponse } from '../fakes/bytes.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import { write } from '../fakes/steps.ts'
import { within } from '../kit/patience.ts'
import { backendYaml, policyYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from '../kit/resources.ts'
import { ask, FORMATS } from './formats.ts'
import { stage } from './stage.ts'

const credential = (name: string, weight: number) =>
  ({ name, type: 'APIKey', weight, apiKey: { secretRef: { name, key: 'key' } } }) as const

// The one request that each backend may take is used by the first try, so that another one is refused by our own limit.
const s = stage(['up', 'spare'], ({ up, spare }) =>
  yamlFile(
    secretYaml({ name: 'first', value: 'provider-key-1' }),
    secretYaml({ name: 'second', value: 'provider-key-2' }),
    tenantYaml({ name: 'guest', anonymous: true }),
    ...FORMATS.flatMap(({ dialect, provider }) => [
      ...['key', 'again', 'over'].flatMap(kind => [
        backendYaml({
          name: `${dialect}-${kind}`,
          url: up,
          provider,
          credentials: [credential('first', 1), credential('second', 0)],
        }),
        policyYaml({
          name: `${dialect}-${kind}`,
          targetRefs: [{ kind: 'ModelBackend', name: `${dialect}-${kind}` }],
          limits: [{ name: 'rpd', requests: 1, per: '24h' }],
        }),
      ]),
      backendYaml({ name: `${dialect}-spare`, url: spare, provider }),
      ...['key', 'again'].map(kind =>
        routeYaml({ name: `${dialect}-${kind}`, models: [`${dialect}-${kind}`], backends: [`${dialect}-${kind}`] }),
      ),
      routeYaml({
        name: `${dialect}-over`,
        models: [`${dialect}-over`],
        backends: [`${dialect}-over`, { name: `${dialect}-spare`, priority: 1 }],
      }),
    ]),
  ),
)

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const failing = (status: number) => [write(jsonResponse(status, format.error('api_error', 'no', 'no')))]
  const send = (model: string) => rawRequest(s.weir.url, ask(format, model))

  test.each([
    ['another credential would be tried', 'key', 429, 429],
    ['the same backend would be tried again', 'again', 503, 503],
  ])(
    'a limit of the backend that is spent when %s ends the request with the failure that there was',
    async (_, kind, status, answered) => {
      s.upstreams.up.script(failing(status))
      const response = await within(send(`${dialect}-${kind}`), 5_000, 'the answer')
      expect(response.status).toBe(answered)
      expect(response.header('x-weir-attempts')).toBe('1')
    },
  )

  test('the next backend serves where there is one', async () => {
    s.upstreams.up.script(failing(429))
    s.upstreams.spare.script([write(jsonResponse(200, format.answer))])
    const response = await within(send(`${dialect}-over`), 5_000, 'the answer')
    expect(response.status).toBe(200)
    expect(response.header('x-weir-attempts')).toBe('2')
  })
})
