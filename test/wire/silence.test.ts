import { expect, test } from 'vitest'
import { chunk, LAST_CHUNK } from '../fakes/bytes.ts'
import { Gate } from '../fakes/gate.ts'
import { rawClient } from '../fakes/raw-client.ts'
import { streamHead } from '../fakes/sse.ts'
import { type Script, wait, write } from '../fakes/steps.ts'
import { backendYaml, routeYaml, yamlFile } from '../kit/resources.ts'
import { ask, FORMATS } from './formats.ts'
import { stage } from './stage.ts'

const SILENCE_MS = 15_000
const COMMENT = ': keep-alive\n\n'

const s = stage(['up'], ({ up }) =>
  yamlFile(
    ...FORMATS.flatMap(({ dialect, provider }) => [
      backendYaml({ name: dialect, url: up, provider }),
      routeYaml({ name: dialect, models: [`${dialect}-*`], backends: [dialect] }),
    ]),
  ),
)

test('after 15 s of silence a stream carries a comment, between events only, and else what the upstream sent', async () => {
  const gate = new Gate()
  const large = 'x'.repeat(100_000)
  const cases = FORMATS.flatMap(format => {
    const begun = [...format.prelude, format.content('a')].join('')
    const half = format.content('b').slice(0, 12)
    const part = format.content(large).slice(0, 90_000)
    return [
      { format, model: 'quiet', before: begun, rest: format.content('b'), passes: begun, comment: true },
      // Half an event is held back, so that the comment stands before all of it.
      {
        format,
        model: 'half',
        before: begun + half,
        rest: format.content('b').slice(12),
        passes: begun,
        comment: true,
      },
      // Of a very large event a part has passed: a comment would end up inside its data.
      {
        format,
        model: 'large',
        before: begun + part,
        rest: format.content(large).slice(90_000),
        passes: begun + part,
        comment: false,
      },
    ]
  })
  s.upstreams.up.on(request => {
    const { model } = request.json() as { model: string }
    const { before, rest, format } = cases.find(each => `${each.format.dialect}-${each.model}` === model)!
    const after: Script = [write(chunk(rest + format.ending.join(''))), write(LAST_CHUNK)]
    return [write(streamHead(), chunk(before)), wait(gate), after]
  })

  const open = await Promise.all(
    cases.map(async ({ format, model, ...expected }) => {
      const client = await rawClient(s.weir.url)
      await client.send(ask(format, `${format.dialect}-${model}`, { stream: true }))
      return { format, ...expected, client, response: client.next() }
    }),
  )
  const commented = open.filter(({ comment }) => comment)
  await Promise.all(commented.map(({ response }) => response.until(({ text }) => text.endsWith(COMMENT))))
  for (const { passes, comment, response } of open) {
    expect(response.text).toBe(passes + (comment ? COMMENT : ''))
    const [first, second] = response.arrivals
    if (comment) expect(second!.at - first!.at).toBeGreaterThan(SILENCE_MS - 500)
  }
  gate.open()
  for (const { format, before, rest, passes, comment, response, client } of open) {
    await response.done
    const whole = before + rest + format.ending.join('')
    expect(response.text).toBe(comment ? passes + COMMENT + whole.slice(passes.length) : whole)
    client.close()
  }
})
