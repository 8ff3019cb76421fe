import { z } from 'zod'
import { absentMeans } from './defaults.ts'
import { durationText, gateway, label, objectName, parseDuration } from './primitives.ts'
import { atomic, mapByName, withRules } from './rules.ts'

const window = withRules(durationText, [
  {
    cel: "duration(self) >= duration('1s') && duration(self) <= duration('24h')",
    message: 'must be between 1s and 24h',
    holds: per => parseDuration(per) >= 1_000 && parseDuration(per) <= 86_400_000,
  },
])

const targetRef = z
  .object({
    kind: z.enum(['LLMRoute', 'ModelBackend', 'LLMTenant']).describe('Kind of the object.'),
    name: objectName.describe("Name of the object, in the policy's own namespace."),
  })
  .describe('One object that the limits apply to.')

const limit = withRules(
  z
    .object({
      name: label.describe('Name of the limit, shown in errors and metrics. Renaming a limit resets its usage.'),
      by: atomic(
        z
          .array(
            z
              .object({ type: z.enum(['Tenant', 'Model']).describe('What tells one budget from another.') })
              .describe('One dimension.'),
          )
          .max(2),
      )
        .optional()
        .describe(
          `Each combination of these has a budget of its own. ${absentMeans('one budget for the whole target')}`,
        ),
      requests: z.int().min(1).max(1_000_000_000).describe('Requests admitted in each window.'),
      per: window.describe('Length of the window, from 1s to 24h.'),
    })
    .describe('One limit.'),
  [
    {
      cel: '!has(self.by) || self.by.all(a, self.by.exists_one(b, a.type == b.type))',
      message: 'must not name a type twice',
      path: ['by'],
      holds: ({ by }) => !by || new Set(by.map(b => b.type)).size === by.length,
    },
  ],
)

/** How much of it. */
export const rateLimitPolicySpec = withRules(
  z.object({
    gateway: gateway.optional(),
    targetRefs: atomic(z.array(targetRef).min(1).max(16)).describe(
      'What the limits apply to. All policies on a target apply; each target has budgets of its own.',
    ),
    limits: mapByName(z.array(limit).min(1).max(16)).describe('The limits; a request must pass all of them.'),
  }),
  [
    {
      cel: 'self.targetRefs.all(a, self.targetRefs.exists_one(b, a.kind == b.kind && a.name == b.name))',
      message: 'must be unique',
      path: ['targetRefs'],
      holds: ({ targetRefs }) => new Set(targetRefs.map(t => `${t.kind}/${t.name}`)).size === targetRefs.length,
    },
  ],
)

export type RateLimitPolicySpec = z.output<typeof rateLimitPolicySpec>
