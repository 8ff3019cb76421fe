import { describe, expect, test } from 'vitest'
import { jsonResponse } from '../fakes/bytes.ts'
import type { Header } from '../fakes/http-head.ts'
import { rawRequest } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { write } from '../fakes/steps.ts'
import { backendYaml, policyYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from '../kit/resources.ts'
import { expectError, expectRetryAfter } from './error-shape.ts'
import { ask, FORMATS } from './formats.ts'
import { stage } from './stage.ts'

const DAY_MS = 86_400_000

/** Keys of tenants: those with a limit of their own have their name. */
const key = (tenant: string): Header => ['authorization', `Bearer ${tenant}-key`]

// Every budget is used by one test only. A day is long enough that no window ends in the middle of one.
const s = stage(['first', 'second'], ({ first, second }) =>
  yamlFile(
    ...['a', 'b', 'limited'].flatMap(name => [
      secretYaml({ name, value: `${name}-key` }),
      tenantYaml({ name, secrets: [name] }),
    ]),
    policyYaml({
      name: 'tenant',
      targetRefs: [{ kind: 'LLMTenant', name: 'limited' }],
      limits: [{ name: 'rpd', requests: 4, per: '24h' }],
    }),
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: `${dialect}-first`, url: first, provider }),
      backendYaml({ name: `${dialect}-spare`, url: second, provider }),
      backendYaml({ name: `${dialect}-limited`, url: first, provider }),
      policyYaml({
        name: `${dialect}-backend`,
        targetRefs: [{ kind: 'ModelBackend', name: `${dialect}-limited` }],
        limits: [{ name: 'rpd', requests: 2, per: '24h' }],
      }),
      routeYaml({ name: `${dialect}-open`, models: [`${dialect}-open`], backends: [`${dialect}-first`] }),
      routeYaml({
        name: `${dialect}-over`,
        models: [`${dialect}-over`],
        backends: [`${dialect}-limited`, { name: `${dialect}-spare`, priority: 1 }],
      }),
      routeYaml({ name: `${dialect}-alone`, models: [`${dialect}-alone`], backends: [`${dialect}-limited`] }),
      ...(
        [
          ['route', [], '24h', 2],
          ['by-tenant', [{ type: 'Tenant' }], '24h', 2],
          ['by-model', [{ type: 'Model' }], '24h', 2],
          ['by-both', [{ type: 'Tenant' }, { type: 'Model' }], '24h', 1],
          ['unspent', [], '24h', 1],
          ['short', [], '20s', 1],
        ] as const
      ).flatMap(([kind, by, per, requests]) => [
        routeYaml({ name: `${dialect}-${kind}`, models: [`${dialect}-${kind}/*`], backends: [`${dialect}-first`] }),
        policyYaml({
          name: `${dialect}-${kind}`,
          targetRefs: [{ kind: 'LLMRoute', name: `${dialect}-${kind}` }],
          limits: [{ name: 'budget', by: [...by], requests, per }],
        }),
      ]),
    ]),
  ),
)

describe.each(FORMATS.map(format => [format.dialect, format] as const))('%s', (dialect, format) => {
  const send = (model: string, tenant = 'a') => {
    for (const upstream of Object.values(s.upstreams)) upstream.on(() => [write(jsonResponse(200, format.answer))])
    return rawRequest(s.weir.url, ask(format, `${dialect}-${model}`, {}, [key(tenant)]))
  }
  const statuses = async (...calls: [model: string, tenant?: string][]) => {
    const all: number[] = []
    for (const [model, tenant] of calls) all.push((await send(model, tenant)).status)
    return all
  }
  const expectLimited = (answer: RawResponse, message: RegExp) => {
    expectError(answer, format, 'rate_limit_exceeded', { message })
    expectRetryAfter(answer, [1, DAY_MS * 1.1])
    // SDKs sleep for as long as they are told: over a minute the caller is to decide.
    const wait = Number(answer.header('retry-after-ms'))
    expect(answer.header('x-should-retry')).toBe(wait > 60_000 ? 'false' : undefined)
  }

  test('a limit on a route counts all of its callers', async () => {
    expect(await statuses(['route/x', 'a'], ['route/y', 'b'])).toEqual([200, 200])
    const answer = await send('route/x')
    expectLimited(
      answer,
      new RegExp(
        `^Rate limit reached for ${dialect}-route/x on requests \\(limit "budget" of default/${dialect}-route\\): ` +
          'Limit 2, Used 2\\. Please try again in [\\d.]+s\\.$',
      ),
    )
    expect(s.requests('first')).toHaveLength(2)
    expect((await send('open')).status).toBe(200)
  })

  test('a limit by tenant is a budget for each tenant', async () => {
    const [x, y] = ['by-tenant/x', 'by-tenant/y']
    expect(await statuses([x, 'a'], [y, 'a'], [x, 'a'], [x, 'b'], [y, 'b'], [y, 'b'])).toEqual([
      200, 200, 429, 200, 200, 429,
    ])
  })

  test('a limit by model is a budget for each model', async () => {
    const [x, y] = ['by-model/x', 'by-model/y']
    expect(await statuses([x, 'a'], [x, 'b'], [x, 'a'], [y, 'a'], [y, 'b'], [y, 'b'])).toEqual([
      200, 200, 429, 200, 200, 429,
    ])
  })

  test('a limit by tenant and model is a budget for each pair', async () => {
    const [x, y] = ['by-both/x', 'by-both/y']
    expect(await statuses([x, 'a'], [x, 'a'], [y, 'a'], [x, 'b'], [x, 'b'], [y, 'b'])).toEqual([
      200, 429, 200, 200, 429, 200,
    ])
  })

  test('a short window leaves the retry to the SDKs', async () => {
    let answer = await send('short/x')
    for (let i = 0; i < 3 && answer.status === 200; i++) answer = await send('short/x')
    expectError(answer, format, 'rate_limit_exceeded')
    expectRetryAfter(answer, [1, 22_000])
    expect(answer.header('x-should-retry')).toBeUndefined()
  })

  test("a backend's own limit moves to the next backend, and is 429 when there is none", async () => {
    const served: (string | undefined)[] = []
    for (let i = 0; i < 4; i++) {
      const answer = await send('over')
      expect([answer.status, answer.header('x-weir-attempts')]).toEqual([200, '1'])
      served.push(answer.header('x-weir-backend'))
    }
    const [limited, spare] = [`default/${dialect}-limited`, `default/${dialect}-spare`]
    expect(served).toEqual([limited, limited, spare, spare])
    expectLimited(await send('alone'), new RegExp(`of default/${dialect}-backend\\)`))
  })

  test('a request that no backend took costs nothing', async () => {
    for (const _time of [1, 2, 3]) {
      const bytes = ask(format, `${dialect}-unspent/x`, {}, [key('a'), ['x-weir-backend', 'nobody']])
      expectError(await rawRequest(s.weir.url, bytes), format, 'invalid_request')
    }
    expect(await statuses(['unspent/x'], ['unspent/x'])).toEqual([200, 429])
  })
})

test('a limit on a tenant counts all that it asks for, in both dialects', async () => {
  const [openai, anthropic] = FORMATS
  for (const upstream of Object.values(s.upstreams)) {
    upstream.on(({ path }) => [write(jsonResponse(200, (path.includes('chat') ? openai : anthropic)!.answer))])
  }
  const send = (format = openai!, tenant = 'limited') =>
    rawRequest(s.weir.url, ask(format, `${format.dialect}-open`, {}, [key(tenant)]))
  for (const format of [openai, anthropic, openai, anthropic]) expect((await send(format)).status).toBe(200)
  for (const format of FORMATS) {
    expectError(await send(format), format, 'rate_limit_exceeded', { message: /limit "rpd" of default\/tenant/ })
  }
  expect((await send(openai, 'a')).status).toBe(200)
})
