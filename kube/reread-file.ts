import { readFile } from 'node:fs/promises'

/**
 * A file that others replace while we run, as the kubelet does with a ServiceAccount's token. Read again at most once
 * in `maxAgeMs`; while it cannot be read, the last content is used.
 */
export class RereadFile {
  readonly path: string
  readonly #maxAgeMs: number
  #content: Buffer | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(path: string, maxAgeMs = 10_000) {
    this.path = path
    this.#maxAgeMs = maxAgeMs
  }

  /** Throws when the file could never be read. */
  async read(): Promise<Buffer> {
    const now = performance.now()
    if (this.#content !== undefined && now - this.#readAt < this.#maxAgeMs) return this.#content
    try {
      const content = await readFile(this.path)
      // The same object while the content is the same: whoever derives something from it can keep that.
      if (this.#content === undefined || !content.equals(this.#content)) this.#content = content
      this.#readAt = now
    } catch (error) {
      if (this.#content === undefined) throw error
    }
    return this.#content
  }

  /** The next `read` looks at the file, whatever its age. */
  invalidate(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }
}
