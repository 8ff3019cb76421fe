import { ApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/http.ts'
import { SECRETS, type Secret } from '../../kube/resource.ts'
import { Conflict, type SecretStore, type StoredSecret } from './secret-store.ts'

/** The Secrets of the fleet's own namespace. */
export class KubeSecretStore implements SecretStore {
  readonly #client: KubeClient
  readonly #namespace: string
  readonly #labels: Record<string, string>

  constructor(client: KubeClient, namespace: string, gateway: string) {
    this.#client = client
    this.#namespace = namespace
    this.#labels = { 'app.kubernetes.io/managed-by': 'weir-operator', 'app.kubernetes.io/instance': gateway }
  }

  async get(name: string): Promise<StoredSecret | null> {
    try {
      return stored(await this.#client.get(SECRETS, { namespace: this.#namespace, name }))
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null
      throw error
    }
  }

  create(name: string, data: Record<string, Buffer>): Promise<StoredSecret> {
    return orConflict(() => this.#client.create(SECRETS, this.#secret(name, data)))
  }

  replace(name: string, data: Record<string, Buffer>, resourceVersion: string): Promise<StoredSecret> {
    return orConflict(() => this.#client.replace(SECRETS, this.#secret(name, data, resourceVersion)))
  }

  #secret(name: string, data: Record<string, Buffer>, resourceVersion?: string): Secret {
    const encoded = Object.entries(data).map(([key, bytes]) => [key, bytes.toString('base64')])
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: this.#namespace,
        labels: this.#labels,
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
      type: 'weir.dev/config',
      data: Object.fromEntries(encoded),
    }
  }
}

/** 409: another version, or there is one already. 404: it is gone. Either way what was known is stale. */
async function orConflict(write: () => Promise<Secret>): Promise<StoredSecret> {
  try {
    return stored(await write())
  } catch (error) {
    if (error instanceof ApiError && (error.status === 409 || error.status === 404)) throw new Conflict(error.message)
    throw error
  }
}

function stored({ metadata, data }: Secret): StoredSecret {
  return {
    resourceVersion: metadata.resourceVersion!,
    data: Object.fromEntries(Object.entries(data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')])),
  }
}
