import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Backend } from '../backends/backend.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { GenAiMetrics } from './gen-ai.ts'

/**
 * Label sets of one metric that are kept apart; later ones are counted under `other`. Scrapes stay fast and small
 * however many routes there are.
 */
const MAX_SERIES = 3000

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** The metrics of one gateway, in a registry of their own. */
export class Metrics {
  readonly registry = new Registry()
  readonly #requests: Labelled
  readonly #attempts: Labelled
  readonly #refusals: Labelled
  readonly #tokens: Labelled
  readonly #seconds: Histogram
  readonly #firstToken: Histogram
  readonly #queueWait: Histogram
  readonly #genAi: GenAiMetrics

  /** `backends` and `load` are read when a scrape comes. */
  constructor(backends: () => Iterable<Backend>, inFlight: () => number, generation: () => number) {
    const registers = [this.registry]
    const counter = (name: string, help: string, labelNames: string[]) =>
      new Labelled(new Counter({ name, help, labelNames, registers }), labelNames)
    const histogram = (name: string, help: string, labelNames: string[] = []) =>
      new Histogram({ name, help, labelNames, buckets: SECONDS, registers })

    const requestLabels = ['route', 'backend', 'dialect', 'code']
    this.#requests = counter('weir_requests_total', 'Requests by status code; 499: the client left.', requestLabels)
    this.#attempts = counter('weir_attempts_total', 'Tries of backends by outcome.', ['outcome'])
    this.#refusals = counter('weir_refusals_total', 'Requests that the gateway refused, by error code.', ['code'])
    this.#tokens = counter('weir_tokens_total', 'Tokens as the providers reported them.', ['kind'])
    this.#seconds = histogram('weir_request_seconds', 'Whole request, from arrival to end.', ['dialect'])
    this.#firstToken = histogram('weir_first_token_seconds', 'Streams: from arrival to the first content.')
    this.#queueWait = histogram('weir_queue_wait_seconds', 'Wait for a slot.')

    this.#genAi = new GenAiMetrics(this.registry)

    const gauge = (name: string, help: string, labelNames: string[], read: (gauge: Gauge) => void) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers,
        collect() {
          this.reset()
          read(this)
        },
      })
    gauge('weir_in_flight', 'Requests that are being handled.', [], g => g.set(inFlight()))
    gauge('weir_config_generation', 'Generation of the configuration in force.', [], g => g.set(generation()))
    const eachBackend = (read: (backend: Backend) => number) => (g: Gauge) => {
      let left = MAX_SERIES / 3
      for (const backend of backends()) if (left-- > 0) g.set({ backend: backend.id }, read(backend))
    }
    const byBackend = ['backend']
    gauge(
      'weir_references',
      'Requests that hold a backend.',
      byBackend,
      eachBackend(b => b.references.size),
    )
    gauge(
      'weir_queue_depth',
      'Requests that wait for a slot.',
      byBackend,
      eachBackend(b => b.admission.queued),
    )
  }

  attempted(outcome: string): void {
    this.#attempts.increment(1, outcome)
  }

  ended(exchange: Exchange, status: number): void {
    const dialect = exchange.operation.dialect.name
    this.#requests.increment(1, exchange.route?.id ?? '', exchange.backendId, dialect, String(status))
    this.#seconds.observe({ dialect }, exchange.elapsedMs / 1000)
    if (exchange.outcome === 'Refused') this.refused(exchange.code)
    if (exchange.attempts > 0) this.#queueWait.observe(exchange.queuedMs / 1000)
    if (exchange.stream && exchange.firstTokenMs !== null) this.#firstToken.observe(exchange.firstTokenMs / 1000)
    this.#genAi.ended(exchange)
    if (exchange.usage) {
      this.#tokens.increment(exchange.usage.input, 'input')
      this.#tokens.increment(exchange.usage.output, 'output')
    }
  }

  refused(code: string): void {
    this.#refusals.increment(1, code)
  }
}

/** A counter that remembers its children by their label values, and stops making new ones at MAX_SERIES. */
class Labelled {
  readonly #counter: Counter
  readonly #labelNames: string[]
  readonly #children = new Map<string, Counter.Internal>()

  constructor(counter: Counter, labelNames: string[]) {
    this.#counter = counter
    this.#labelNames = labelNames
  }

  increment(by: number, ...values: string[]): void {
    if (by <= 0) return
    const key = values.length === 1 ? values[0]! : values.join('\n')
    let child = this.#children.get(key)
    if (!child) {
      const full = this.#children.size >= MAX_SERIES
      const labels = full ? this.#labelNames.map(() => 'other') : values
      child = this.#counter.labels(...labels)
      if (!full) this.#children.set(key, child)
    }
    child.inc(by)
  }
}
