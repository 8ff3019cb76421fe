import { randomBytes } from 'node:crypto'
import { stringify } from 'yaml'
import { API_VERSION, CREDENTIALS_LABEL } from '../crds/group.ts'
import { label, objectName } from '../crds/primitives.ts'
import { coloursFor } from './colour.ts'
import { type Input, UsageError } from './command.ts'

/** `weir keys create`: YAML on stdout, so that it can be kept in a file; what to do with it on stderr. */
export async function keys(input: Input): Promise<number> {
  if (input.argument !== 'create')
    throw new UsageError(`unknown action ${JSON.stringify(input.argument)}; use "create"`)
  const name = input.text('name') ?? 'key-1'
  const tenant = input.text('tenant') ?? 'team'
  const namespace = input.text('namespace')
  for (const [option, value, form] of [
    ['name', name, label],
    ['tenant', tenant, objectName],
    ['namespace', namespace, label],
  ] as const) {
    if (value !== undefined && !form.safeParse(value).success) {
      throw new UsageError(`--${option} must be lower-case letters, digits and "-", is ${JSON.stringify(value)}`)
    }
  }

  const key = newKey()
  process.stdout.write(tenantYaml({ key, name, tenant, namespace }))
  const colours = coloursFor(process.stderr)
  process.stderr.write(
    `${colours.bold(key)} is the new key of ${tenant}; callers send it as their API key.\n` +
      `Keep the YAML above: in a file for "weir run -f", or with "kubectl apply -f -".\n`,
  )
  return 0
}

/** 256 random bits; the prefix lets secret scanners know it. */
export function newKey(): string {
  return `weir_${randomBytes(32).toString('base64url')}`
}

export function tenantYaml(of: { key: string; name: string; tenant: string; namespace: string | undefined }): string {
  const inNamespace = of.namespace === undefined ? {} : { namespace: of.namespace }
  const secretName = `${of.tenant}-${of.name}`
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, ...inNamespace, labels: { [CREDENTIALS_LABEL]: 'true' } },
    stringData: { token: of.key },
  }
  const tenant = {
    apiVersion: API_VERSION,
    kind: 'LLMTenant',
    metadata: { name: of.tenant, ...inNamespace },
    spec: { apiKeys: [{ name: of.name, secretRef: { name: secretName, key: 'token' } }] },
  }
  return `${stringify(secret)}---\n# If the LLMTenant exists already, add this item to its apiKeys instead.\n${stringify(tenant)}`
}
