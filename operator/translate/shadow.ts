import { compilePattern, type ModelPattern } from '../../dataplane/config/glob.ts'
import type { RouteConfig } from '../../dataplane/config/snapshot.ts'

interface Entry {
  route: RouteConfig
  pattern: ModelPattern
}

/**
 * The routes of one namespace, asked for the one that takes everything that a route from elsewhere could get there: own
 * routes go first whatever their pattern, so that an own `*` leaves nothing to others. Found by literal beginnings: a
 * pattern can only cover another that begins with its own beginning.
 */
export class Shadow {
  readonly #exact = new Map<string, Entry[]>()
  readonly #byBeginning = new Map<string, Entry[]>()
  readonly #lengths: number[]

  /** `routes` in the order of precedence among equals. */
  constructor(routes: readonly RouteConfig[]) {
    const lengths = new Set<number>()
    for (const route of routes) {
      for (const text of route.match.models) {
        const pattern = compilePattern(text)
        const beginning = text.slice(0, pattern.literalPrefix)
        if (!pattern.exact) lengths.add(beginning.length)
        const entries = pattern.exact ? this.#exact : this.#byBeginning
        if (!entries.get(beginning)?.push({ route, pattern })) entries.set(beginning, [{ route, pattern }])
      }
    }
    this.#lengths = [...lengths]
  }

  /** The own route that takes every request of `tenant` (null: of all tenants) that matches `pattern` and the headers of `route`. */
  covering(route: RouteConfig, pattern: string, tenant: string | null): RouteConfig | undefined {
    const beginning = pattern.split('*', 1)[0]!
    const covers = (entry: Entry) =>
      entry.pattern.matches(pattern) && namesNobodyElse(entry.route, tenant) && asksNoMore(entry.route, route)
    const exact = this.#exact.get(pattern)?.find(covers)
    if (exact) return exact.route
    for (const length of this.#lengths) {
      if (length > beginning.length) continue
      const found = this.#byBeginning.get(beginning.slice(0, length))?.find(covers)
      if (found) return found.route
    }
    return undefined
  }
}

function namesNobodyElse(own: RouteConfig, tenant: string | null): boolean {
  return own.access.tenants === undefined || (tenant !== null && own.access.tenants.includes(tenant))
}

function asksNoMore(own: RouteConfig, other: RouteConfig): boolean {
  return own.match.headers.every(({ name, value }) =>
    other.match.headers.some(header => header.name.toLowerCase() === name.toLowerCase() && header.value === value),
  )
}
