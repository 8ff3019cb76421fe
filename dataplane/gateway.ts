import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Backend, BackendState } from './backends/backend.ts'
import { BackendRegistry } from './backends/registry.ts'
import { type Config, compile, type Refused, type Tenant } from './config/compile.ts'
import { SNAPSHOT_SCHEMA, type Snapshot } from './config/snapshot.ts'
import type { Dialect } from './dialects/dialect.ts'
import { type ErrorCode, GatewayError } from './dialects/errors.ts'
import type { Operation } from './dialects/operations.ts'
import { WindowLimits } from './limits/windows.ts'
import { authenticate } from './pipeline/authenticate.ts'
import { BODY_BUDGET_BYTES, BodyBudget, MAX_REQUEST_BYTES } from './pipeline/body.ts'
import { Exchange } from './pipeline/exchange.ts'
import { serve } from './pipeline/request.ts'
import type { Runtime } from './pipeline/runtime.ts'
import { Roster } from './roster.ts'
import { adminServer } from './server/admin.ts'
import { SilentConnections } from './server/silent-connections.ts'
import { type TrafficHandler, trafficServer } from './server/traffic.ts'
import { AccessLog, type LogWriter, toStdout } from './telemetry/access-log.ts'
import { Metrics } from './telemetry/metrics.ts'

export interface GatewayOptions {
  host: string
  /** 0 takes any free port. */
  port: number
  adminHost: string
  adminPort: number
  adminToken?: string
  pod?: { name: string; uid: string }
  accessLog?: LogWriter
  /** Merged into `/status`. */
  extendStatus?: () => Record<string, unknown>
  /** Adds routes to the admin port. */
  extendAdmin?: (app: FastifyInstance) => void
}

export interface BackendStatus {
  namespace: string
  name: string
  uid: string
  state: BackendState
  /** By upstream model. */
  references: Record<string, number>
  oldestSeconds: number
  queued: number
  inFlight: number
  slots: number
}

export interface GatewayStatus {
  pod: { name: string; uid: string }
  bootId: string
  ready: boolean
  config: { epoch: string | null; generation: number; schema: { major: number; minor: number } }
  refused: readonly Refused[]
  backends: BackendStatus[]
  load: { inFlight: number; queued: number; bodyBytes: number; saturated: boolean }
}

/** How long a new connection may take to its first byte while the gateway closes. */
const SILENCE_MS = 1000

/** What is served before the first configuration: nothing. */
const EMPTY: Snapshot = {
  epoch: 'none',
  generation: 1,
  schema: SNAPSHOT_SCHEMA,
  backends: [],
  routes: [],
  tenants: [],
  policies: [],
}

/**
 * One gateway: the traffic port, the admin port, and the configuration in force. Owns every connection and timer that
 * its requests use; `close` leaves none behind.
 */
export class Gateway implements Runtime, TrafficHandler {
  config: Config = compile(EMPTY, new Map())
  closing = false
  readonly limits = new WindowLimits()
  readonly bodyBudget = new BodyBudget(BODY_BUDGET_BYTES)
  readonly maxRequestBytes = MAX_REQUEST_BYTES
  readonly #options: GatewayOptions
  readonly #bootId = randomUUID()
  readonly #registry = new BackendRegistry()
  readonly #exchanges = new Roster<Exchange>()
  readonly #log: AccessLog
  readonly #metrics: Metrics
  readonly #traffic: FastifyInstance
  readonly #admin: FastifyInstance
  readonly #silent: SilentConnections
  #applied = false

  /** Binds both ports. @throws the system's error where one is taken */
  static async start(options: GatewayOptions): Promise<Gateway> {
    const gateway = new Gateway(options)
    await gateway.#listen()
    return gateway
  }

  private constructor(options: GatewayOptions) {
    this.#options = options
    this.#log = new AccessLog(options.accessLog ?? toStdout)
    this.#metrics = new Metrics(
      () => this.#registry.all(),
      () => this.#exchanges.size,
      () => (this.#applied ? this.config.generation : 0),
    )
    this.#traffic = trafficServer(this)
    this.#silent = new SilentConnections(this.#traffic.server)
    this.#admin = adminServer({
      token: options.adminToken,
      ready: () => this.ready,
      status: () => ({ ...this.status(), ...options.extendStatus?.() }),
      registry: this.#metrics.registry,
    })
    options.extendAdmin?.(this.#admin)
  }

  get url(): string {
    return urlOf(this.#traffic)
  }

  get adminUrl(): string {
    return urlOf(this.#admin)
  }

  get ready(): boolean {
    return this.#applied && !this.closing
  }

  /**
   * Puts a snapshot into force: compile, then swap in one assignment. Requests that run keep what they hold. What comes
   * from outside the process is parsed with `snapshotSchema` before; that takes longer than all of this.
   *
   * @throws Error when it cannot be compiled, or is of another major version; the last good one stays in force
   */
  apply(snapshot: Snapshot): void {
    const { major } = snapshot.schema
    if (major !== SNAPSHOT_SCHEMA.major) {
      throw new Error(
        `snapshot schema ${major} is not readable here (${SNAPSHOT_SCHEMA.major} is); upgrade the gateway`,
      )
    }
    const backends = this.#registry.prepare(snapshot.backends)
    const config = compile(snapshot, backends)
    this.#registry.commit(backends, snapshot.backends)
    this.limits.apply(snapshot.policies)
    this.config = config
    this.#applied = true
  }

  serve(operation: Operation, request: IncomingMessage, response: ServerResponse, requestId: string): void {
    const exchange = new Exchange(request, response, operation, requestId, ended => this.#ended(ended))
    this.#exchanges.add(exchange)
    void serve(this, exchange)
  }

  authenticate(dialect: Dialect, request: IncomingMessage): Tenant {
    return authenticate(this.config, dialect, request.headers)
  }

  attempted(outcome: string): void {
    this.#metrics.attempted(outcome)
  }

  refused(code: ErrorCode): void {
    this.#metrics.refused(code)
  }

  status(): GatewayStatus {
    const backends = [...this.#registry.all()].map(statusOf)
    return {
      pod: this.#options.pod ?? { name: 'standalone', uid: this.#bootId },
      bootId: this.#bootId,
      ready: this.ready,
      config: {
        epoch: this.#applied ? this.config.epoch : null,
        generation: this.#applied ? this.config.generation : 0,
        schema: SNAPSHOT_SCHEMA,
      },
      refused: this.config.refused,
      backends,
      load: {
        inFlight: this.#exchanges.size,
        queued: backends.reduce((sum, backend) => sum + backend.queued, 0),
        bodyBytes: this.bodyBudget.used,
        saturated: backends.some(backend => backend.queued > 0 && backend.inFlight >= backend.slots),
      },
    }
  }

  /**
   * Stops accepting, lets requests finish for at most `graceMs`, ends what is left, closes every connection and
   * flushes the log.
   */
  async close({ graceMs }: { graceMs: number }): Promise<void> {
    this.closing = true
    // Requests that come from now on are told so at their start.
    for (const { response } of this.#exchanges.all()) response.shouldKeepAlive = false
    const timer = setTimeout(() => this.#endAll(), graceMs)
    // Node closes the connections that are idle now; those that become idle later would be waited for.
    const sweep = setInterval(() => {
      this.#traffic.server.closeIdleConnections()
      this.#silent.close(SILENCE_MS)
    }, 50)
    await this.#traffic.close()
    clearTimeout(timer)
    clearInterval(sweep)
    this.#registry.closeAll()
    await this.#admin.close()
    this.#log.flush()
  }

  async #listen(): Promise<void> {
    const { host, port, adminHost, adminPort } = this.#options
    try {
      await this.#traffic.listen({ host, port })
      await this.#admin.listen({ host: adminHost, port: adminPort })
    } catch (error) {
      await Promise.all([this.#traffic.close(), this.#admin.close()])
      throw error
    }
  }

  #ended(exchange: Exchange): void {
    this.#exchanges.remove(exchange)
    // 499, as nginx has it: the client left before an answer.
    const status = exchange.response.headersSent ? exchange.response.statusCode : 499
    this.#metrics.ended(exchange, status)
    this.#log.add(exchange, status)
  }

  #endAll(): void {
    const error = new GatewayError('shutting_down', 'The gateway is shutting down; send the request again.')
    for (const exchange of this.#exchanges.all()) exchange.interrupt(error)
    // What still does not close belongs to clients that do not read.
    setTimeout(() => this.#traffic.server.closeAllConnections(), 1000).unref()
  }
}

function statusOf(backend: Backend): BackendStatus {
  const { namespace, name, uid } = backend.config
  return {
    namespace,
    name,
    uid,
    state: backend.state,
    references: backend.references.byModel(),
    oldestSeconds: backend.references.oldestSeconds(),
    queued: backend.admission.queued,
    inFlight: backend.admission.inFlight,
    slots: backend.admission.slots,
  }
}

function urlOf(app: FastifyInstance): string {
  const { address, port, family } = app.server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
