import type { Backend, Credential } from '../backends/backend.ts'
import type { Route, Target } from '../config/route-table.ts'
import type { Dialect } from '../dialects/dialect.ts'

/** A backend that can be tried, with the name of the model that it is sent. */
export interface Candidate {
  backend: Backend
  /** Name to send instead of the client's; undefined keeps it. */
  model: string | undefined
}

/**
 * The order in which one request tries a route's backends: by priority, inside one by weight, each once. A target
 * whose backend does not exist keeps its share: a request that draws it goes to the next priority, not to its peers,
 * so that a lost backend shows instead of silently doubling the load of the others.
 */
export class Candidates {
  readonly #route: Route
  readonly #tried = new Set<Target>()
  #left: Target[]
  /** Targets that serve the dialect at all, whatever their state. */
  readonly servesDialect: boolean
  readonly #random: () => number

  /**
   * @param pinned `name` or `namespace/name` of the only backend to be tried
   * @param unsupported UIDs that this gateway cannot serve
   */
  constructor(
    route: Route,
    dialect: Dialect,
    pinned: string | undefined,
    unsupported: ReadonlyMap<string, string>,
    random: () => number = Math.random,
  ) {
    this.#route = route
    this.#random = random
    const serving = route.targets.filter(({ backend }) => !backend || backend.config.provider === dialect.provider)
    this.servesDialect = serving.length > 0
    this.#left = serving.filter(
      target =>
        (pinned ? isNamed(target, pinned) : target.config.weight > 0) &&
        // Draining is wanted: its share goes to its peers. Missing is not: its share fails.
        target.backend?.state !== 'Draining' &&
        target.backend?.state !== 'Closed' &&
        !unsupported.has(target.config.uid ?? ''),
    )
  }

  /** Takes the next backend to try; null when there is none. */
  next(): Candidate | null {
    while (this.#left.length > 0) {
      const priority = Math.min(...this.#left.map(target => target.config.priority))
      const peers = this.#left.filter(target => target.config.priority === priority)
      const drawn = this.#draw(peers)
      const first = !this.#route.targets.some(t => this.#tried.has(t) && t.config.priority === priority)
      this.#tried.add(drawn)
      if (drawn.backend?.available) {
        this.#left = this.#left.filter(target => target !== drawn)
        return { backend: drawn.backend, model: drawn.config.model }
      }
      // Drawn first, a missing one decides; as a substitute for a failed peer it is only passed over.
      this.#left = this.#left.filter(target => (first ? target.config.priority !== priority : target !== drawn))
    }
    return null
  }

  /** Leaves out backends that were tried before the configuration changed. */
  without(backends: ReadonlySet<Backend>): this {
    for (const target of this.#route.targets)
      if (target.backend && backends.has(target.backend)) this.#tried.add(target)
    this.#left = this.#left.filter(target => !this.#tried.has(target))
    return this
  }

  #draw(peers: Target[]): Target {
    let at = this.#random() * peers.reduce((sum, peer) => sum + Math.max(1e-9, peer.config.weight), 0)
    for (const peer of peers) {
      at -= Math.max(1e-9, peer.config.weight)
      if (at < 0) return peer
    }
    return peers[peers.length - 1]!
  }
}

export function isNamed(target: Target, name: string): boolean {
  return name === target.config.name || name === `${target.config.namespace}/${target.config.name}`
}

/** A credential by weight, other than those that failed; null where the backend needs none or none is left. */
export function pickCredential(
  credentials: readonly Credential[],
  failed: ReadonlySet<Credential>,
  random: () => number = Math.random,
): Credential | null {
  const left = credentials.filter(credential => !failed.has(credential))
  if (left.length < 2) return left[0] ?? null
  let at = random() * left.reduce((sum, credential) => sum + credential.weight, 0)
  for (const credential of left) {
    at -= credential.weight
    if (at < 0) return credential
  }
  return left[0]!
}
