/**
 * Monotonic milliseconds, as every deadline and duration of the data plane uses them. Wall-clock time is only for what
 * people read and for what crosses processes.
 */
export function monotonicMs(): number {
  return performance.now()
}
