/**
 * What a field means when it is absent: the only place where defaults live. The CRDs carry no `default:` under `spec`,
 * so that GitOps tools see no drift and a later release's defaults reach objects that exist already; `weir status`
 * shows the effective values. Durations are in the notation of the resources (see `parseDuration`).
 */
export const DEFAULTS = {
  gateway: 'weir',
  modelBackend: {
    concurrencyMax: 256,
    queueDepth: 256,
    timeouts: { connect: '2s', firstByte: '5m', idle: '5m', total: '10m' },
    credentialWeight: 1,
    allowedNamespaces: [] as string[],
  },
  llmRoute: {
    priority: 0,
    weight: 1,
    retry: {
      attempts: 3,
      failures: ['Connect', 'Reset', 'BadResponse'] as string[],
      codes: [429, 500, 502, 503, 504, 529] as number[],
      backoff: { base: '50ms', max: '2s' },
    },
    timeout: '10m',
    maxWait: '2s',
  },
  rateLimitPolicy: { by: [] as ('Tenant' | 'Model')[] },
  llmTenant: { anonymous: false },
} as const

/**
 * The last sentence of an optional field's description. The generated reference shows it as the field's default, so the
 * text and the behaviour come from the same value.
 */
export function absentMeans(value: string | number | boolean | readonly (string | number)[]): string {
  const text = Array.isArray(value) ? value.join(', ') || 'none' : String(value)
  return `Absent means ${text}.`
}
