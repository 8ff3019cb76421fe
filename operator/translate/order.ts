interface Named {
  namespace: string
  name: string
}

interface Aged extends Named {
  /** Seconds since the epoch; 0 where unknown. */
  createdAt: number
}

/** By code unit, so that the order is the same on every machine. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function byName(a: Named, b: Named): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name)
}

/** The tie-breaker of everything that only one object can have: the oldest, then the first by namespace and name. */
export function byAge(a: Aged, b: Aged): number {
  return a.createdAt - b.createdAt || byName(a, b)
}
