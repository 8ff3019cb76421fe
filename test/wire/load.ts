import { type RawClient, rawClient } from '../fakes/raw-client.ts'
import type { RawResponse } from '../fakes/raw-response.ts'
import { endOf, type WireDialect } from './wire-dialect.ts'

/** Requests on one connection before a new one is opened; both kinds of connection see every change. */
const PER_CONNECTION = 25

export interface Lane {
  dialect: WireDialect
  stream: boolean
}

/** Clients that send one request after the other, each in its own lane, until they are stopped. */
export class Load {
  readonly responses: RawResponse[] = []
  /** Why a request was not served whole; empty when all were. */
  readonly failures: string[] = []
  readonly #lanes: Promise<void>[]
  #stopped = false

  constructor(url: string, lanes: readonly Lane[]) {
    this.#lanes = lanes.map(lane => this.#run(url, lane))
  }

  /** How many responses carried this header value. */
  served(backend: string): number {
    return this.responses.filter(response => response.header('x-weir-backend') === backend).length
  }

  /** Lets the running requests finish. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#lanes)
  }

  async #run(url: string, lane: Lane): Promise<void> {
    while (!this.#stopped) {
      const client = await rawClient(url)
      for (let i = 0; i < PER_CONNECTION && !this.#stopped; i++) await this.#one(client, lane)
      client.close()
    }
  }

  async #one(client: RawClient, { dialect, stream }: Lane): Promise<void> {
    const response = client.next()
    try {
      await client.send(dialect.ask({ stream }))
      await response.done
      this.responses.push(response)
      if (endOf(dialect, response) === 'complete') return
      this.failures.push(`${response.hasHead ? response.status : response.cutBy} ${response.text}`)
    } catch (error) {
      this.failures.push((error as Error).message)
    }
  }
}
