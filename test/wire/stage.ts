import { afterAll, afterEach, beforeAll, beforeEach, onTestFailed } from 'vitest'
import { type ScriptedUpstream, scriptedUpstream } from '../fakes/upstream.ts'
import type { UpstreamRequest } from '../fakes/upstream-request.ts'
import { quietStatus } from '../kit/quiet.ts'
import { startWeir, type Weir } from '../kit/weir.ts'

/** One gateway before scripted upstreams, for all tests of a file. */
export interface Stage<Name extends string> {
  readonly weir: Weir
  readonly upstreams: Readonly<Record<Name, ScriptedUpstream>>
  /** The requests that an upstream has had since the test began. */
  requests(name: Name): UpstreamRequest[]
}

/**
 * Starts the upstreams, then the gateway on `files`, before the tests of the file. After each test every count of the
 * gateway must be zero, and no upstream may have seen what it had no script for.
 *
 * @param files given the upstreams' origins
 */
export function stage<Name extends string>(
  names: readonly Name[],
  files: (urls: Record<Name, string>) => Promise<string> | string,
): Stage<Name> {
  let weir: Weir
  const upstreams = {} as Record<Name, ScriptedUpstream>
  const before = {} as Record<Name, number>

  beforeAll(async () => {
    const urls = {} as Record<Name, string>
    for (const name of names) {
      upstreams[name] = await scriptedUpstream()
      urls[name] = upstreams[name].url
    }
    weir = await startWeir({ files: { 'weir.yaml': await files(urls) } })
  })
  beforeEach(() => {
    for (const name of names) before[name] = upstreams[name].requests.length
    const [errors, lines] = [weir.stderrLines.length, weir.logs.length]
    onTestFailed(() => {
      const printed = [...weir.stderrLines.slice(errors), ...weir.logs.slice(lines).map(line => JSON.stringify(line))]
      console.error(printed.join('\n'))
    })
  })
  afterEach(async () => {
    await quietStatus(weir)
    const faults = names.flatMap(name => upstreams[name].faults.splice(0))
    if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join('; '))
  })
  afterAll(async () => {
    await weir?.stop()
    await Promise.all(Object.values<ScriptedUpstream>(upstreams).map(upstream => upstream.close()))
  })

  return {
    get weir() {
      return weir
    },
    upstreams,
    requests: name => upstreams[name].requests.slice(before[name]),
  }
}
