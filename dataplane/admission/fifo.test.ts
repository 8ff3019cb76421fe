import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Ask, Ticket } from './admission.ts'
import { Fifo, MAX_PARKED_BYTES } from './fifo.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount(), 'no timer is left').toBe(0)
  vi.useRealTimers()
})

const ask = (more: Partial<Ask> = {}): Ask => ({
  tenant: 't',
  tokens: 1,
  bytes: 1,
  maxWaitMs: 2000,
  atHead: false,
  ...more,
})

const states = (tickets: Ticket[]) => tickets.map(ticket => ticket.state[0]).join('')
const closeAll = (tickets: Ticket[]) => {
  for (const ticket of tickets) ticket.close()
}

describe('a queue before slots', () => {
  test('grants at once while slots are free, then in the order of arrival', async () => {
    const queue = new Fifo(2, 10)
    const tickets = [1, 2, 3, 4].map(() => queue.ask(ask()))
    expect(states(tickets)).toBe('GGWW')
    expect(queue).toMatchObject({ inFlight: 2, queued: 2 })
    tickets[1]!.close()
    await tickets[2]!.settled()
    expect(states(tickets)).toBe('GCGW')
    closeAll(tickets)
    expect(queue).toMatchObject({ inFlight: 0, queued: 0 })
  })

  test('a retry goes to the head of the line', () => {
    const queue = new Fifo(1, 10)
    const [first, second, third] = [queue.ask(ask()), queue.ask(ask()), queue.ask(ask({ atHead: true }))]
    first!.close()
    expect([second!.state, third!.state]).toEqual(['Waiting', 'Granted'])
    closeAll([second!, third!])
  })

  test('refuses at once when it is full by count, by bytes, or when nobody may wait', () => {
    const queue = new Fifo(1, 2)
    const tickets = [queue.ask(ask()), queue.ask(ask())]
    const heavy = queue.ask(ask({ bytes: MAX_PARKED_BYTES }))
    const impatient = queue.ask(ask({ maxWaitMs: 0 }))
    tickets.push(queue.ask(ask()))
    const late = queue.ask(ask())
    for (const refused of [heavy, impatient, late]) {
      expect(refused).toMatchObject({ state: 'Refused', refusal: { reason: 'Full', ownShare: false } })
      expect(refused.refusal!.retryAfterMs).toBeGreaterThanOrEqual(1000)
    }
    closeAll(tickets)
  })

  test('refuses a wait that it could not keep, and says how long it would be', () => {
    const queue = new Fifo(1, 100)
    const slow = queue.ask(ask())
    vi.advanceTimersByTime(5000)
    slow.close()
    const busy = queue.ask(ask())
    const refused = queue.ask(ask({ maxWaitMs: 4000 }))
    expect(refused.refusal).toMatchObject({ reason: 'Full', retryAfterMs: 5000 })
    const patient = queue.ask(ask({ maxWaitMs: 6000 }))
    expect(patient.state).toBe('Waiting')
    closeAll([busy, patient])
  })

  test('gives up a place when its wait is over', async () => {
    const queue = new Fifo(1, 10)
    const held = queue.ask(ask())
    const waiting = queue.ask(ask({ maxWaitMs: 300 }))
    vi.advanceTimersByTime(299)
    expect(waiting.state).toBe('Waiting')
    vi.advanceTimersByTime(1)
    await waiting.settled()
    expect(waiting).toMatchObject({ state: 'Refused', refusal: { reason: 'Waited' } })
    expect(waiting.waitedMs).toBe(300)
    held.close()
    expect(queue).toMatchObject({ inFlight: 0, queued: 0 })
  })

  test('new bounds admit who waits, and take no slot away', () => {
    const queue = new Fifo(1, 10)
    const tickets = [1, 2, 3].map(() => queue.ask(ask()))
    queue.resize(2, 10)
    expect(states(tickets)).toBe('GGW')
    queue.resize(1, 10)
    expect(states(tickets)).toBe('GGW')
    tickets[0]!.close()
    expect(states(tickets)).toBe('CGW')
    tickets[1]!.close()
    expect(states(tickets)).toBe('CCG')
    closeAll(tickets)
  })

  test('closing twice, or after a refusal, changes nothing', () => {
    const queue = new Fifo(1, 0)
    const granted = queue.ask(ask())
    const refused = queue.ask(ask())
    closeAll([refused, refused, granted, granted])
    expect(queue).toMatchObject({ inFlight: 0, queued: 0 })
    expect(queue.ask(ask()).state).toBe('Granted')
  })
})

type Step =
  | { do: 'ask'; ask: Ask }
  | { do: 'close'; at: number }
  | { do: 'wait'; ms: number }
  | { do: 'resize'; slots: number }

const step: fc.Arbitrary<Step> = fc
  .oneof(
    { weight: 5, arbitrary: fc.record({ bytes: fc.nat(100), maxWaitMs: fc.nat(500), atHead: fc.boolean() }) },
    { weight: 4, arbitrary: fc.nat(50) },
    { weight: 2, arbitrary: fc.tuple(fc.nat(400)) },
    { weight: 1, arbitrary: fc.array(fc.nat(3), { minLength: 2, maxLength: 2 }) },
  )
  .map((value): Step => {
    if (typeof value === 'number') return { do: 'close', at: value }
    if (!Array.isArray(value)) return { do: 'ask', ask: ask(value) }
    return value.length === 1 ? { do: 'wait', ms: value[0]! } : { do: 'resize', slots: value[0]! + 1 }
  })

test('counts are kept over any arrivals, ends and expiries; no slot stays free while somebody waits', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), steps => {
      let slots = 2
      const queue = new Fifo(slots, 6)
      const tickets: Ticket[] = []
      for (const each of steps) {
        if (each.do === 'ask') tickets.push(queue.ask(each.ask))
        else if (each.do === 'close') tickets[each.at]?.close()
        else if (each.do === 'wait') vi.advanceTimersByTime(each.ms)
        else {
          slots = each.slots
          queue.resize(slots, 6)
        }
        const granted = tickets.filter(ticket => ticket.state === 'Granted').length
        const waiting = tickets.filter(ticket => ticket.state === 'Waiting').length
        expect(queue).toMatchObject({ inFlight: granted, queued: waiting })
        if (waiting > 0) expect(granted).toBeGreaterThanOrEqual(slots)
        expect(waiting).toBeLessThanOrEqual(6)
      }
      closeAll(tickets)
      expect(queue).toMatchObject({ inFlight: 0, queued: 0 })
    }),
  )
})
