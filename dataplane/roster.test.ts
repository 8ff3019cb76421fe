import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Listed, Roster } from './roster.ts'

test('a roster holds what a Set would hold', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { maxLength: 200 }), steps => {
      const items: (Listed & { id: number })[] = Array.from({ length: 10 }, (_, id) => ({ id, rosterIndex: -1 }))
      const roster = new Roster<(typeof items)[number]>()
      const model = new Set<number>()
      for (const [add, id] of steps) {
        const item = items[id]!
        if (!add) expect(roster.remove(item)).toBe(model.delete(id))
        else if (!model.has(id)) {
          roster.add(item)
          model.add(id)
        }
        expect(roster.size).toBe(model.size)
        expect(new Set(roster.all().map(each => each.id))).toEqual(model)
      }
    }),
  )
})
