import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../dialects/errors.ts'
import type { AttemptClient, ResponseBody } from './attempt.ts'
import type { Outcome } from './outcome.ts'

/**
 * A stream that came compressed although it was asked for plain: its bytes pass as they come, unjudged, from the
 * first one. An error event could not be put into it, so a failure cuts the connection.
 */
export class OpaqueResponse implements ResponseBody {
  readonly #client: AttemptClient
  readonly #status: number
  readonly #headers: IncomingHttpHeaders
  #committed = false

  constructor(client: AttemptClient, status: number, headers: IncomingHttpHeaders) {
    this.#client = client
    this.#status = status
    this.#headers = headers
  }

  data(chunk: Buffer): boolean {
    this.#commit()
    return this.#client.response.write(chunk)
  }

  end(): Outcome {
    this.#commit()
    this.#client.response.end()
    return { kind: 'Done' }
  }

  cut(reason: string, { code }: { code: ErrorCode }): Outcome {
    if (!this.#committed) return { kind: 'Reset', reason }
    this.#client.response.destroy()
    return { kind: 'Broken', reason, code }
  }

  wakeAt(): number {
    return Number.POSITIVE_INFINITY
  }

  wake(): null {
    return null
  }

  #commit(): void {
    if (this.#committed) return
    this.#committed = true
    this.#client.commit(this.#status, this.#headers)
  }
}
