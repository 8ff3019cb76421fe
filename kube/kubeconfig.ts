import { readFile } from 'node:fs/promises'
import { delimiter } from 'node:path'
import { parse } from 'yaml'
import type { ClusterAccess, Credentials, Trust } from './access.ts'
import { ExecCredentials } from './exec-credential.ts'
import { inClusterAccess } from './in-cluster.ts'
import { type Context, type Entry, entryOf, type Kubeconfig, merge } from './kubeconfig-entries.ts'
import { RereadFile } from './reread-file.ts'

/** User fields that we do not speak, each with what to use instead. */
const UNSUPPORTED_USER: Record<string, string> = {
  username: 'basic authentication is gone from Kubernetes; use a token or a client certificate',
  password: 'basic authentication is gone from Kubernetes; use a token or a client certificate',
  'auth-provider': 'it is gone from kubectl too; use an exec credential program',
  as: 'impersonation is not supported; use credentials of that user',
  'as-groups': 'impersonation is not supported; use credentials of that user',
  'as-uid': 'impersonation is not supported; use credentials of that user',
  'as-user-extra': 'impersonation is not supported; use credentials of that user',
}

/**
 * The API server to use: that of the kubeconfig at `path`, else of the one that `KUBECONFIG` names (several are merged,
 * as kubectl does), else the one whose pod we are.
 */
export async function loadAccess(
  path?: string,
  env: Record<string, string | undefined> = process.env,
): Promise<ClusterAccess> {
  if (path !== undefined) return kubeconfigAccess([path])
  const paths = (env.KUBECONFIG ?? '').split(delimiter).filter(each => each !== '')
  return paths.length > 0 ? kubeconfigAccess(paths) : inClusterAccess(env)
}

/** The current context of the merged kubeconfigs. Throws with the file and the field that are wrong. */
export async function kubeconfigAccess(paths: readonly string[]): Promise<ClusterAccess> {
  const config = merge(await Promise.all(paths.map(path => read(path, paths.length > 1))), paths)
  const context = contextOf(config)
  const cluster = entryOf(config.clusters, 'cluster', context.cluster)
  const user: Entry | undefined = context.user ? entryOf(config.users, 'user', context.user) : undefined

  const server = serverOf(cluster)
  const trust = trustOf(cluster)
  const identity = user ? identityOf(user, cluster, server) : undefined
  const insecure = cluster.flag('insecure-skip-tls-verify')
  if (identity && server.protocol === 'http:' && !isLoopback(server.hostname) && !insecure) {
    throw cluster.problem(
      'server',
      'would send credentials over plain HTTP; use https, or say insecure-skip-tls-verify: true',
    )
  }
  return {
    server,
    namespace: context.namespace ?? 'default',
    credentials: identity?.credentials ?? (async () => ({})),
    trust,
    invalidate: identity?.invalidate ?? (() => {}),
  }
}

async function read(path: string, mayBeMissing: boolean): Promise<Kubeconfig> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new Error(`cannot read the kubeconfig ${path}: ${(error as Error).message}`)
  }
  let parsed: unknown
  try {
    parsed = parse(text)
  } catch (error) {
    // The first line says where and what; the rest quotes the file, which holds secrets.
    throw new Error(`${path} is no YAML: ${(error as Error).message.split('\n', 1)[0]}`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Error(`${path} is not a kubeconfig: expected an object with clusters, users and contexts`)
  }
  return parsed as Kubeconfig
}

function contextOf(config: ReturnType<typeof merge>): Context {
  const { currentContext, files } = config
  if (!currentContext) throw new Error(`${files}: no current-context; set one with kubectl config use-context NAME`)
  const context = entryOf(config.contexts, 'context', currentContext)
  const user = context.text('user')
  const namespace = context.text('namespace')
  return {
    cluster: context.required('cluster'),
    ...(user !== undefined && { user }),
    ...(namespace !== undefined && { namespace }),
  }
}

function serverOf(cluster: Entry): URL {
  const text = cluster.required('server')
  if (cluster.text('proxy-url')) throw cluster.problem('proxy-url', 'is not supported; reach the API server directly')
  const server = URL.canParse(text) ? new URL(text) : undefined
  if (!server || !/^https?:$/.test(server.protocol)) throw cluster.problem('server', 'is not an http or https URL')
  return server
}

function trustOf(cluster: Entry): () => Promise<Trust> {
  const ca = pem(cluster, 'certificate-authority')
  const serverName = cluster.text('tls-server-name')
  const insecure = cluster.flag('insecure-skip-tls-verify')
  if (insecure && ca)
    throw cluster.problem('insecure-skip-tls-verify', 'contradicts the certificate-authority beside it')
  return async () => ({ insecure, ...(serverName && { serverName }), ...(ca && { ca: await ca.read() }) })
}

interface Identity {
  credentials: () => Promise<Credentials>
  invalidate: () => void
}

function identityOf(user: Entry, cluster: Entry, server: URL): Identity {
  for (const [field, why] of Object.entries(UNSUPPORTED_USER)) {
    if (user.has(field)) throw user.problem(field, `is not supported: ${why}`)
  }
  const exec = execOf(user, cluster, server)
  if (exec) return { credentials: () => exec.get(), invalidate: () => exec.invalidate() }

  const tokenFile = user.path('tokenFile')
  const token = tokenFile ? new RereadFile(tokenFile) : user.text('token')
  const cert = pem(user, 'client-certificate')
  const key = pem(user, 'client-key')
  if (!cert !== !key) throw user.problem('client-certificate', 'needs both client-certificate and client-key')
  return {
    invalidate: () => {
      if (token instanceof RereadFile) token.invalidate()
    },
    credentials: async () => ({
      ...(token && { token: typeof token === 'string' ? token : (await token.read()).toString('utf8').trim() }),
      ...(cert && key && { cert: await cert.read(), key: await key.read() }),
    }),
  }
}

function execOf(user: Entry, cluster: Entry, server: URL): ExecCredentials | undefined {
  const exec = user.nested('exec')
  if (!exec) return undefined
  const command = exec.required('command')
  if (exec.text('interactiveMode') === 'Always') {
    throw exec.problem('interactiveMode', 'Always needs a terminal; use IfAvailable or Never')
  }
  const installHint = exec.text('installHint')
  const info = {
    server: server.href,
    'tls-server-name': cluster.text('tls-server-name'),
    'insecure-skip-tls-verify': cluster.flag('insecure-skip-tls-verify'),
    'certificate-authority-data': cluster.text('certificate-authority-data'),
  }
  return new ExecCredentials({
    apiVersion: exec.required('apiVersion'),
    command: command.includes('/') ? exec.path('command')! : command,
    args: exec.texts('args'),
    env: exec.pairs('env'),
    ...(installHint && { installHint }),
    ...(exec.flag('provideClusterInfo') && { cluster: info }),
  })
}

/** PEM out of `FIELD-data` (base64) or of the file that `FIELD` names; the data wins, as with kubectl. */
function pem(entry: Entry, field: string): { read(): Promise<string | Buffer> } | undefined {
  const inline = entry.text(`${field}-data`)
  if (inline) {
    const text = Buffer.from(inline, 'base64').toString('utf8')
    if (!text.includes('-----BEGIN')) throw entry.problem(`${field}-data`, 'is not PEM in base64')
    return { read: async () => text }
  }
  const path = entry.path(field)
  return path === undefined ? undefined : new RereadFile(path)
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname)
}
