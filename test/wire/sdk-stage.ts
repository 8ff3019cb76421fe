import { afterAll } from 'vitest'
import { type Demo, startDemo } from '../../demo/server.ts'
import { refusingUrl } from '../fakes/unreachable.ts'
import { backendYaml, policyYaml, routeYaml, secretYaml, tenantYaml, yamlFile } from '../kit/resources.ts'
import { type Stage, stage } from './stage.ts'

/** The only key that the stage's gateway takes. */
export const KEY = 'sk-weir-test'

/** Routes by name, with what they lead to; each takes its own name and, with a budget for each, names that begin with it. */
const TARGETS = {
  demo: 'demo',
  // A scripted provider whose errors come through, for the gateway makes one try only.
  scripted: 'scripted',
  refusing: 'refusing',
  // Two requests in a window for each name.
  briefly: 'scripted',
  daily: 'scripted',
}

const WINDOWS = { briefly: '2s', daily: '24h' }

/** A gateway with a keyed tenant before the demo model, a scripted provider and one that cannot be reached, in both dialects. */
export function sdkStage(): Stage<'provider'> {
  let demo: Demo | undefined
  afterAll(async () => {
    await demo?.close(0)
  })
  return stage(['provider'], async ({ provider }) => {
    demo = await startDemo({ host: '127.0.0.1', port: 0, paceMs: 0 })
    const urls = { demo: demo.url, scripted: provider, refusing: await refusingUrl() }
    const backends = Object.entries(urls).flatMap(([name, url]) => [
      backendYaml({ name: `${name}-openai`, url, timeouts: { firstByte: '300ms' } }),
      backendYaml({ name: `${name}-anthropic`, url, timeouts: { firstByte: '300ms' }, provider: 'Anthropic' }),
    ])
    const routes = Object.entries(TARGETS).map(([name, target]) =>
      routeYaml({
        name,
        models: [name, `${name}-*`],
        backends: [`${target}-openai`, `${target}-anthropic`],
        retry: { attempts: 1 },
      }),
    )
    const narrow = { concurrency: { max: 1 }, queue: { depth: 0 }, url: provider }
    const policies = Object.entries(WINDOWS).map(([name, per]) =>
      policyYaml({
        name,
        targetRefs: [{ kind: 'LLMRoute', name }],
        limits: [{ name: 'few', by: [{ type: 'Model' }], requests: 2, per }],
      }),
    )
    return yamlFile(
      tenantYaml({ name: 'team', secrets: ['team'] }),
      secretYaml({ name: 'team', value: KEY }),
      ...backends,
      ...routes,
      ...policies,
      routeYaml({ name: 'one-dialect', models: ['only-openai'], backends: ['demo-openai'] }),
      routeYaml({ name: 'other-dialect', models: ['only-anthropic'], backends: ['demo-anthropic'] }),
      backendYaml({ name: 'narrow-openai', ...narrow }),
      backendYaml({ name: 'narrow-anthropic', provider: 'Anthropic', ...narrow }),
      routeYaml({ name: 'narrow', models: ['narrow'], backends: ['narrow-openai', 'narrow-anthropic'] }),
    )
  })
}
