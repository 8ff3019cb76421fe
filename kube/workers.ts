import type { WorkQueue } from './workqueue.ts'

export interface WorkersOptions<K extends string> {
  queue: WorkQueue<K>
  /** Keys that are worked on at a time. */
  concurrency: number
  /** Does the work for one key. A number is the wait before it is done again, in milliseconds. */
  work: (key: K) => Promise<number | undefined>
  /** Every failure; the key is tried again after its backoff. */
  report: (key: K, error: unknown) => void
}

/** Works on the keys of a queue until it is shut down and empty. Never throws. */
export async function runWorkers<K extends string>(options: WorkersOptions<K>): Promise<void> {
  await Promise.all(Array.from({ length: options.concurrency }, () => runWorker(options)))
}

async function runWorker<K extends string>({ queue, work, report }: WorkersOptions<K>): Promise<void> {
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    try {
      const againMs = await work(key)
      queue.forget(key)
      if (againMs !== undefined) queue.addAfter(key, againMs)
    } catch (error) {
      queue.retry(key)
      report(key, error)
    } finally {
      queue.done(key)
    }
  }
}
