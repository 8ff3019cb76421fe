import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 10

/** The value of `promise`. Rejects after `ms` with an error that names `what` was waited for. */
export async function within<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Calls `attempt` every 10 ms until it neither throws nor rejects nor returns false, and returns what it returned. After
 * `timeoutMs` (5 s where absent) it rejects with what the last attempt threw.
 */
export async function eventually<T>(
  attempt: () => T | Promise<T>,
  { timeoutMs = 5_000 }: { timeoutMs?: number } = {},
): Promise<Exclude<T, false>> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    let failure: unknown
    try {
      const result = await attempt()
      if (result !== false) return result as Exclude<T, false>
      failure = new Error(`still false: ${attempt}`)
    } catch (error) {
      failure = error
    }
    if (performance.now() > deadline)
      throw new Error(`not within ${timeoutMs} ms: ${messageOf(failure)}`, { cause: failure })
    await sleep(POLL_MS)
  }
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure)
}
