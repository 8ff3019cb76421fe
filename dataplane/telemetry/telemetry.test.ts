import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { compile } from '../config/compile.ts'
import { OPERATIONS } from '../dialects/operations.ts'
import { Exchange } from '../pipeline/exchange.ts'
import { routeOf, snapshotOf, tenantOf } from '../testdata/objects.ts'
import { AccessLog } from './access-log.ts'
import { Metrics } from './metrics.ts'

/** A request that has ended, to a route and for a model of any name. */
function ended({ route = 'r', model = 'm', code = '' } = {}): Exchange {
  const request = new IncomingMessage(new Socket())
  request.headers.authorization = 'Bearer tenant-secret'
  const exchange = new Exchange(request, new ServerResponse(request), OPERATIONS[0]!, 'id-1', () => {})
  const snapshot = snapshotOf({
    routes: [routeOf(route, { models: [model] })],
    tenants: [tenantOf('t', { anonymous: true })],
  })
  exchange.tenant = compile(snapshot, new Map()).anonymous
  exchange.match = exchange.tenant!.table.find(model, {})
  exchange.model = model
  exchange.attempts = 1
  exchange.backendId = 'default/b'
  exchange.code = code
  exchange.usage = { input: 3, output: 5 }
  exchange.end('Served')
  return exchange
}

describe('metrics', () => {
  test('stay below 10,000 series, however many routes, models and codes there are', async () => {
    const metrics = new Metrics(
      () => [],
      () => 0,
      () => 1,
    )
    for (let i = 0; i < 5000; i++) metrics.ended(ended({ route: `r${i}`, model: `m${i}`, code: `c${i}` }), 200)
    const text = await metrics.registry.metrics()
    const series = text.split('\n').filter(line => line && !line.startsWith('#'))
    expect(series.length).toBeLessThanOrEqual(10_000)
    expect(text).toContain('weir_requests_total{route="other",backend="other",dialect="other",code="other"} 2000')
    expect(text).toContain('weir_tokens_total{kind="output"} 25000')
  })
})

describe('the access log', () => {
  test('has exactly the documented fields, and nothing secret', () => {
    let written = ''
    const log = new AccessLog(lines => {
      written += lines
      return true
    })
    log.add(ended(), 200)
    log.flush()
    expect(Object.keys(JSON.parse(written))).toEqual([
      ...['time', 'level', 'requestId', 'tenant', 'route', 'backend', 'model', 'dialect', 'status', 'code', 'attempts'],
      ...['queueMs', 'firstTokenMs', 'totalMs', 'tokensIn', 'tokensOut', 'outcome'],
    ])
    expect(written).not.toContain('tenant-secret')
  })

  test('drops and counts lines while its reader is full, and goes on when it has drained', () => {
    const batches: string[] = []
    let drained = () => {}
    const log = new AccessLog((lines, onDrained) => {
      batches.push(lines)
      drained = onDrained
      return false
    })
    const line = ended({ model: 'x'.repeat(1000) })
    log.add(line, 200)
    log.flush()
    for (let i = 0; i < 5000; i++) log.add(line, 200)
    log.flush()
    expect(batches).toHaveLength(1)
    expect(log.dropped).toBeGreaterThan(0)
    const waiting = 5000 - log.dropped
    drained()
    expect(batches[1]!.split('\n')).toHaveLength(waiting + 1)
  })
})
