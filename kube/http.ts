import type { ClusterAccess } from './access.ts'
import { apiErrorOf, ConnectionError } from './api-error.ts'
import type { KubeObject, ObjectName } from './object.ts'
import { apiVersionOf, type Resource, resourcePath } from './resource.ts'
import { type Answer, type Call, Transport, type TransportOptions } from './transport.ts'
import { WatchStream } from './watch-stream.ts'

export interface ClientOptions extends TransportOptions {
  /** Default for every request, from its start to the last byte of the answer, in milliseconds. Default 30,000. */
  timeoutMs?: number
}

export interface CallOptions {
  timeoutMs?: number
  signal?: AbortSignal | undefined
}

export interface Selection {
  /** Absent: all namespaces. */
  namespace?: string | undefined
  labelSelector?: string | undefined
  fieldSelector?: string | undefined
}

export interface ListOptions extends Selection, CallOptions {
  /** Objects a page. Absent: everything in one answer. */
  limit?: number
  /** The page after the one that gave this. */
  continue?: string
}

export interface List<T> {
  items: T[]
  resourceVersion: string
  /** Present while there are further pages. */
  continue?: string
}

export interface WriteOptions extends CallOptions {
  /** As `status`. Absent: the object itself. */
  subresource?: string
  /** Everything is checked, nothing is stored. */
  dryRun?: boolean
  /** `Strict`: unknown fields are an error. The server's default is `Warn`, and warnings are not read. */
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  /** Who owns the fields that are written. */
  fieldManager?: string
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string
  /** Takes over fields that others own; otherwise those are a conflict (409). */
  force?: boolean
}

export interface DeleteOptions extends CallOptions {
  /** 409 unless the object still is this one. */
  uid?: string
  resourceVersion?: string
  propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'
  /** 0: at once. */
  gracePeriodSeconds?: number
  dryRun?: boolean
}

export interface WatchOptions extends Selection, CallOptions {
  /** What was seen last; absent: from now on, with an ADDED event for everything there is. */
  resourceVersion?: string
  /** The server ends the watch after so long. */
  timeoutSeconds: number
}

/**
 * A client of the Kubernetes API: what gateways and the operator need of it, in a tenth of the memory of the official
 * one. Refusals are `ApiError`s, everything that keeps an answer away is a `ConnectionError`. Nothing is retried but a
 * 401 after credentials have rotated.
 */
export class KubeClient {
  readonly access: ClusterAccess
  readonly #transport: Transport
  readonly #timeoutMs: number

  constructor(access: ClusterAccess, options: ClientOptions = {}) {
    this.access = access
    this.#transport = new Transport(access, options)
    this.#timeoutMs = options.timeoutMs ?? 30_000
  }

  get<T extends KubeObject>(resource: Resource<T>, where: ObjectName, options: CallOptions = {}): Promise<T> {
    return this.#json<T>({ ...this.#read(options), path: resourcePath(resource, where) })
  }

  /** One page. Items of built-in kinds come without `apiVersion` and `kind`; they are filled in. */
  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<List<T>> {
    const { limit, continue: token } = options
    const path = withQuery(collectionPath(resource, options), { ...selectors(options), limit, continue: token })
    const list = await this.#json<RawList<T>>({ ...this.#read(options), path })
    const typed = { apiVersion: apiVersionOf(resource), kind: resource.kind }
    return {
      items: (list.items ?? []).map(item => ({ ...typed, ...item })),
      resourceVersion: list.metadata.resourceVersion,
      ...(list.metadata.continue && { continue: list.metadata.continue }),
    }
  }

  /** Fails with `AlreadyExists` when there is one of that name. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name } = object.metadata
    const path = options.subresource
      ? resourcePath(resource, { ...where(object), subresource: options.subresource })
      : resourcePath(resource, { ...(namespace !== undefined && { namespace }) })
    if (!name) throw new Error(`a ${resource.kind} to create needs a name`)
    return this.#write('POST', path, object, options)
  }

  /** Fails with `Conflict` when the object has changed since its `resourceVersion`. */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#write('PUT', pathOf(resource, object, options), object, options)
  }

  /** Server-side apply: `object` is everything that `fieldManager` wants, and nothing else. */
  apply<T extends KubeObject>(resource: Resource<T>, object: PartialObject, options: ApplyOptions): Promise<T> {
    const { force } = options
    const path = pathOf(resource, object, options)
    return this.#write('PATCH', path, object, options, 'application/apply-patch+yaml', { force: force || undefined })
  }

  /** A JSON merge patch (RFC 7386): null removes a field, lists are replaced whole. */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    name: ObjectName,
    patch: object,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = resourcePath(resource, { ...name, ...subresource(options) })
    return this.#write('PATCH', path, patch, options, 'application/merge-patch+json')
  }

  /** Objects with finalizers stay until those are gone. */
  async delete(resource: Resource, name: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds, dryRun } = options
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...((uid || resourceVersion) && { preconditions: { uid, resourceVersion } }),
      propagationPolicy,
      gracePeriodSeconds,
      ...(dryRun && { dryRun: ['All'] }),
    }
    await this.#write('DELETE', resourcePath(resource, name), body, options)
  }

  /** Opens a watch; returns once the server has accepted it. Must be read to its end or closed. */
  async watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): Promise<WatchStream<T>> {
    const query = {
      ...selectors(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      timeoutSeconds: options.timeoutSeconds,
    }
    const path = withQuery(collectionPath(resource, options), query)
    const what = `watch of ${resource.plural}`
    const stream = await this.#transport.open({ ...this.#read(options), path })
    if (stream.status !== 200) {
      try {
        const body = await readText(stream.body)
        throw apiErrorOf(what, stream.status, body, textOf(stream.headers['retry-after']))
      } finally {
        stream.close()
      }
    }
    return new WatchStream<T>(stream, what, error => this.#transport.failure(what, error), options.signal)
  }

  /**
   * Any other request, as `GET /version`, a token request or `pods/NAME/proxy/…`; the answer's text as it came. Throws
   * an `ApiError` from 400 on.
   */
  async request(method: Call['method'], path: string, body?: object, options: CallOptions = {}): Promise<string> {
    const call = { ...this.#read(options), method, path }
    const answer = await this.#checked(body === undefined ? call : { ...call, ...jsonBody(body) })
    return answer.body
  }

  /** Cuts every request and watch that still runs. */
  close(): Promise<void> {
    return this.#transport.close()
  }

  #read({ timeoutMs = this.#timeoutMs, signal }: CallOptions): Omit<Call, 'path'> {
    return { method: 'GET', headers: { accept: 'application/json' }, timeoutMs, signal }
  }

  #write<T>(
    method: Call['method'],
    path: string,
    body: object,
    options: WriteOptions,
    contentType = 'application/json',
    query: Query = {},
  ): Promise<T> {
    const { dryRun, fieldValidation, fieldManager } = options
    // A delete says its dry run in the body.
    const dry = dryRun && method !== 'DELETE' ? 'All' : undefined
    const full = withQuery(path, { ...query, dryRun: dry, fieldValidation, fieldManager })
    return this.#json<T>({ ...this.#read(options), method, path: full, ...jsonBody(body, contentType) })
  }

  async #json<T>(call: Call): Promise<T> {
    const answer = await this.#checked(call)
    try {
      return JSON.parse(answer.body) as T
    } catch {
      const type = answer.headers['content-type'] ?? 'no content type'
      throw new ConnectionError('Answer', `${what(call)}: expected JSON from the API server, got ${type}`)
    }
  }

  async #checked(call: Call): Promise<Answer> {
    const answer = await this.#transport.call(call)
    if (answer.status < 400) return answer
    throw apiErrorOf(what(call), answer.status, answer.body, textOf(answer.headers['retry-after']))
  }
}

/** What server-side apply takes: any part of an object. */
export type PartialObject = KubeObject & Record<string, unknown>

interface RawList<T> {
  metadata: { resourceVersion: string; continue?: string }
  items: T[] | null
}

type Query = Record<string, string | number | boolean | undefined>

function withQuery(path: string, query: Query): string {
  const set = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) set.append(name, String(value))
  return set.size === 0 ? path : `${path}?${set}`
}

function selectors({ labelSelector, fieldSelector }: Selection): Query {
  return { labelSelector, fieldSelector }
}

function collectionPath(resource: Resource, { namespace }: Selection): string {
  return resourcePath(resource, namespace === undefined ? {} : { namespace })
}

function where({ metadata: { namespace, name } }: KubeObject): ObjectName {
  return { name, ...(namespace !== undefined && { namespace }) }
}

function subresource({ subresource }: WriteOptions): { subresource?: string } {
  return subresource === undefined ? {} : { subresource }
}

function pathOf(resource: Resource, object: KubeObject, options: WriteOptions): string {
  return resourcePath(resource, { ...where(object), ...subresource(options) })
}

function jsonBody(body: object, contentType = 'application/json') {
  return {
    headers: { accept: 'application/json', 'content-type': contentType },
    body: JSON.stringify(body),
  }
}

function what({ method, path }: Call): string {
  return `${method} ${path.split('?', 1)[0]}`
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
