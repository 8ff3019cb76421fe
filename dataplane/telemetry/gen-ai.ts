import { Histogram, type Registry } from 'prom-client'
import type { Exchange } from '../pipeline/exchange.ts'

/** Label sets of one histogram that are kept apart; each costs some 17 series. */
const MAX_LABEL_SETS = 60

// Buckets, names and attributes: OpenTelemetry semantic conventions for GenAI metrics, v1.41.0.
const TOKEN_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const SECOND_BUCKETS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]

/** `gen_ai.operation.name` of our operations; the others have no name in the conventions. */
const OPERATION_NAMES: Record<string, string> = { chat: 'chat', messages: 'chat', embeddings: 'embeddings' }

const LABELS = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model']

/**
 * The OpenTelemetry GenAI metrics of the gateway as a client of model servers. `gen_ai_request_model` is the name or
 * pattern of the route that matched: clients may invent any number of names.
 */
export class GenAiMetrics {
  readonly #tokens: Histogram
  readonly #duration: Histogram
  readonly #firstChunk: Histogram
  readonly #labelSets = new Map<string, Record<string, string>>()
  readonly #durationSets = new Map<string, Record<string, string>>()

  constructor(registry: Registry) {
    const histogram = (name: string, help: string, labelNames: string[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, buckets, registers: [registry] })
    this.#tokens = histogram(
      'gen_ai_client_token_usage',
      'Tokens of a request, input and output apart.',
      [...LABELS, 'gen_ai_token_type'],
      TOKEN_BUCKETS,
    )
    this.#duration = histogram(
      'gen_ai_client_operation_duration_seconds',
      'Duration of an operation; error_type is the gateway error code, empty where it succeeded.',
      [...LABELS, 'error_type'],
      SECOND_BUCKETS,
    )
    this.#firstChunk = histogram(
      'gen_ai_client_operation_time_to_first_chunk_seconds',
      'Streams: time to the first content.',
      LABELS,
      SECOND_BUCKETS,
    )
  }

  /** Records a request that was sent to a backend. */
  ended(exchange: Exchange): void {
    const operation = OPERATION_NAMES[exchange.operation.name]
    if (!operation || exchange.attempts === 0) return
    const labels: Record<string, string> = {
      gen_ai_operation_name: operation,
      gen_ai_provider_name: exchange.operation.dialect.name,
      gen_ai_request_model: exchange.match!.pattern,
    }
    const error = exchange.outcome === 'ClientGone' ? 'client_gone' : exchange.code
    const bounded = atMost(this.#labelSets, labels, '')
    this.#duration.observe(
      atMost(this.#durationSets, { ...labels, error_type: error }, error),
      exchange.elapsedMs / 1000,
    )
    if (exchange.stream && exchange.firstTokenMs !== null) {
      this.#firstChunk.observe(bounded, exchange.firstTokenMs / 1000)
    }
    if (exchange.usage) {
      this.#tokens.observe({ ...bounded, gen_ai_token_type: 'input' }, exchange.usage.input)
      this.#tokens.observe({ ...bounded, gen_ai_token_type: 'output' }, exchange.usage.output)
    }
  }
}

/** The labels themselves while there is room for another set, else the set of all others. */
function atMost(sets: Map<string, Record<string, string>>, labels: Record<string, string>, error: string) {
  const key = `${labels.gen_ai_operation_name}\n${labels.gen_ai_request_model}\n${error}`
  const known = sets.get(key)
  if (known) return known
  if (sets.size >= MAX_LABEL_SETS) {
    return { ...labels, gen_ai_request_model: 'other', ...(error && { error_type: 'other' }) }
  }
  sets.set(key, labels)
  return labels
}
