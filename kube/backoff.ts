export interface BackoffOptions {
  /** Longest wait after the first failure, in milliseconds. */
  baseMs: number
  /** Longest wait at all. */
  maxMs: number
}

/**
 * The wait after the nth failure in a row (n from 1): doubled each time up to `maxMs`, and between half of that and the
 * whole of it by chance, so that a fleet that lost the same server does not come back in step.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: BackoffOptions): number {
  const longest = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 40))
  return jittered(longest)
}

/** Between half of `ms` and `ms`. */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random() / 2)
}
