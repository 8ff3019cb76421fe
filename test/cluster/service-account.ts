import type { KubeObject } from '../../kube/object.ts'
import type { Resource } from '../../kube/resource.ts'
import type { Cluster } from './cluster.ts'

/** A rule of a Role, as in YAML. */
export interface PolicyRule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
  resourceNames?: string[]
}

export interface ServiceAccount {
  token: string
  /** A file for the programs that take one. */
  kubeconfig: string
}

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const ROLES: Resource<KubeObject & { rules: PolicyRule[] }> = {
  ...RBAC,
  kind: 'Role',
  plural: 'roles',
  namespaced: true,
}
const ROLE_BINDINGS: Resource<KubeObject & { roleRef: object; subjects: object[] }> = {
  ...RBAC,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
}
const SERVICE_ACCOUNTS: Resource = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
}

/** A ServiceAccount that may do what `rules` say in its namespace and nothing else, with a token of one hour. */
export async function createServiceAccount(
  cluster: Cluster,
  namespace: string,
  name: string,
  rules: PolicyRule[],
): Promise<ServiceAccount> {
  const client = cluster.client()
  const metadata = { namespace, name }
  const rbac = 'rbac.authorization.k8s.io/v1'
  try {
    await client.create(SERVICE_ACCOUNTS, { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    await client.create(ROLES, { apiVersion: rbac, kind: 'Role', metadata, rules })
    await client.create(ROLE_BINDINGS, {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', namespace, name }],
    })
  } finally {
    await client.close()
  }
  const token = await requestToken(cluster, namespace, name)
  return { token, kubeconfig: await cluster.writeKubeconfig(`${namespace}-${name}`, token, { namespace }) }
}

/** A token of a ServiceAccount that exists (TokenRequest). `seconds` is 600 at least. */
export async function requestToken(cluster: Cluster, namespace: string, name: string, seconds = 3600): Promise<string> {
  const client = cluster.client()
  try {
    const answer = await client.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: seconds },
    })
    return (JSON.parse(answer) as { status: { token: string } }).status.token
  } finally {
    await client.close()
  }
}
