import { z } from 'zod'
import { absentMeans, DEFAULTS } from './defaults.ts'
import {
  duration,
  gateway,
  headerList,
  headerPair,
  label,
  modelPattern,
  objectName,
  positiveDuration,
  uniqueHeaders,
  upstreamModel,
} from './primitives.ts'
import { atomic, withRules } from './rules.ts'

const ABSENT = DEFAULTS.llmRoute

const match = withRules(
  z.object({
    models: atomic(z.array(modelPattern.describe('Name of a model, or a pattern of names.')).min(1).max(64)).describe(
      'Names that clients send as the model. `*` matches any characters, `/` too. An exact name goes before a pattern, a ' +
        'pattern with a longer literal beginning before a shorter one.',
    ),
    headers: headerList(headerPair)
      .optional()
      .describe('Headers that the request must carry with exactly these values; all must match.'),
  }),
  [
    uniqueHeaders('headers'),
    {
      cel: 'self.models.all(a, self.models.exists_one(b, a == b))',
      message: 'must be unique',
      path: ['models'],
      holds: value => new Set(value.models).size === value.models.length,
    },
  ],
).describe('Which requests the route takes.')

const access = z
  .object({
    tenants: atomic(z.array(objectName.describe('Name of an LLMTenant.')).min(1).max(256))
      .optional()
      .describe(`Names of the LLMTenants that may use the route. ${absentMeans('all tenants of the namespaces')}`),
    namespaces: atomic(z.array(label.describe('Name of a namespace.')).max(64))
      .optional()
      .describe(`Namespaces besides the route's own whose tenants may use it. ${absentMeans([])}`),
  })
  .describe('Who may use the route.')

const target = z
  .object({
    name: objectName.describe('Name of the ModelBackend.'),
    namespace: label
      .optional()
      .describe(`Namespace of the ModelBackend; the backend must allow it. ${absentMeans("the route's own")}`),
    priority: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .describe(`Backends of a higher number serve when none of a lower number can. ${absentMeans(ABSENT.priority)}`),
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe(
        `Share of the requests among the backends of the same priority; 0 is none. ${absentMeans(ABSENT.weight)}`,
      ),
    model: upstreamModel
      .optional()
      .describe(`Name of the model that is sent to this backend. ${absentMeans('the name that the client sent')}`),
  })
  .describe('One backend and its share of the requests.')

const retry = z
  .object({
    attempts: z
      .int()
      .min(1)
      .max(10)
      .optional()
      .describe(`Tries in all, the first one included. ${absentMeans(ABSENT.retry.attempts)}`),
    failures: atomic(
      z.array(z.enum(['Connect', 'Reset', 'BadResponse', 'Timeout']).describe('One kind of failure.')).max(4),
    )
      .optional()
      .describe(
        'Failures after which another try is made. Connect: no connection. Reset: the connection ended before the ' +
          'response began. BadResponse: a response that is none, such as an error inside a 200. Timeout: no answer in ' +
          `time; the provider may bill both tries. ${absentMeans(ABSENT.retry.failures)}`,
      ),
    codes: atomic(z.array(z.int().min(400).max(599).describe('One status code.')).max(32))
      .optional()
      .describe(`Status codes after which another try is made. ${absentMeans(ABSENT.retry.codes)}`),
    backoff: z
      .object({
        base: duration
          .optional()
          .describe(`First wait; it doubles with each try. ${absentMeans(ABSENT.retry.backoff.base)}`),
        max: duration.optional().describe(`Longest wait. ${absentMeans(ABSENT.retry.backoff.max)}`),
      })
      .optional()
      .describe('Wait before another try of the same backend; the next backend is tried at once.'),
  })
  .describe('What happens when a backend fails before its response has begun.')

/**
 * CEL: items `b` and `c` agree on an optional field. `namespace` is a reserved word of CEL, where the field is called
 * `__namespace__`; without the underscores the API server calls the rule too expensive.
 */
function same(field: string): string {
  return `(has(b.${field}) ? has(c.${field}) && b.${field} == c.${field} : !has(c.${field}))`
}

/** Which requests go where. */
export const llmRouteSpec = withRules(
  z.object({
    gateway: gateway.optional(),
    match,
    access: access.optional(),
    backends: atomic(z.array(target).min(1).max(32)).describe('The backends that serve the route.'),
    retry: retry.optional(),
    timeout: positiveDuration
      .optional()
      .describe(`Deadline of the whole request, waiting and every try included. ${absentMeans(ABSENT.timeout)}`),
    maxWait: duration
      .optional()
      .describe(`Longest time a request may wait for a slot; 0s refuses at once. ${absentMeans(ABSENT.maxWait)}`),
  }),
  [
    {
      cel: `self.backends.all(b, self.backends.exists_one(c, b.name == c.name && ${same('__namespace__')} && ${same('model')}))`,
      message: 'must not name a backend twice with the same model',
      path: ['backends'],
      holds: ({ backends }) =>
        new Set(backends.map(b => JSON.stringify([b.namespace ?? '', b.name, b.model ?? '']))).size === backends.length,
    },
    {
      cel: 'self.backends.exists(b, !has(b.weight) || b.weight > 0)',
      message: 'must have a weight above 0 in at least one item',
      path: ['backends'],
      holds: ({ backends }) => backends.some(b => b.weight !== 0),
    },
  ],
)

export type LLMRouteSpec = z.output<typeof llmRouteSpec>
