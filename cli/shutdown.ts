import { constants } from 'node:os'

/** npm passes a Ctrl-C on that the terminal has sent already: two signals so close together are one. */
const SAME_SIGNAL_MS = 500

/**
 * The first SIGINT or SIGTERM, and the one after it, which means that the person will not wait; it comes with
 * the exit code of a process that a signal ended.
 */
export function shutdownSignal(): { first: Promise<void>; second: Promise<number> } {
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<number>()
  let since: number | undefined
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    if (since === undefined) {
      since = performance.now()
      first.resolve()
    } else if (performance.now() - since > SAME_SIGNAL_MS) {
      second.resolve(128 + constants.signals[signal])
    }
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return { first: first.promise, second: second.promise }
}
