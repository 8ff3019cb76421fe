import { eventually } from '../kit/patience.ts'
import { type Output, Program } from '../kit/program.ts'

const PATIENCE_MS = 20_000

/** A `weir` command that runs until it is stopped, as the tests here look at it. */
export class WeirProcess extends Program {
  /** Waits until stderr holds the text, or matches. */
  async says(what: string | RegExp): Promise<void> {
    const matches = () => (typeof what === 'string' ? this.stderr.includes(what) : what.test(this.stderr))
    await this.waitFor(String(what), matches)
  }

  /** Waits until something holds; fails with all that was printed. */
  async until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
    await eventually(holds, { timeoutMs: PATIENCE_MS }).catch(cause => {
      throw new Error(`not seen: ${what}\n${this.printed()}`, { cause })
    })
  }

  /** Addresses of a gateway, once it listens. */
  async listening(): Promise<{ url: string; admin: string }> {
    const line = /listening on (\S+) \(admin (\S+)\)/
    await this.says(line)
    const [, url, admin] = line.exec(this.stderr)!
    return { url: url!, admin: admin! }
  }

  /** Its end, once all of its output has been read. */
  get ended(): Promise<Output> {
    return this.exited.then(exit => ({ ...exit, stdout: this.stdout, stderr: this.stderr }))
  }
}
