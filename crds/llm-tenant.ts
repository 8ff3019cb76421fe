import { z } from 'zod'
import { absentMeans, DEFAULTS } from './defaults.ts'
import { gateway, label, secretKeyRef } from './primitives.ts'
import { mapByName } from './rules.ts'

const apiKey = z
  .object({
    name: label.describe('Name of the key, shown in status instead of its value.'),
    secretRef: secretKeyRef,
  })
  .describe('One key.')

/** Who may send requests. */
export const llmTenantSpec = z.object({
  gateway: gateway.optional(),
  apiKeys: mapByName(z.array(apiKey).max(16))
    .optional()
    .describe(
      `Keys that callers of this tenant present. Several are valid side by side, for rotation. ${absentMeans([])}`,
    ),
  anonymous: z
    .boolean()
    .optional()
    .describe(
      `Callers without credentials are this tenant. One per fleet. ${absentMeans(DEFAULTS.llmTenant.anonymous)}`,
    ),
})

export type LLMTenantSpec = z.output<typeof llmTenantSpec>
