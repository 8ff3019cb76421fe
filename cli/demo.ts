import { once } from 'node:events'
import { startDemo } from '../demo/server.ts'
import type { Input } from './command.ts'
import { explainListenError } from './listen.ts'

/** `weir demo`: the demo model alone, until a signal. */
export async function demo(input: Input): Promise<number> {
  const host = input.text('host') ?? '127.0.0.1'
  const port = input.port('port', 8081)
  const server = await startDemo({ host, port }).catch(error => {
    throw explainListenError(error, [{ option: '--port', host, port }])
  })
  process.stderr.write(`demo model on ${server.url}\n`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await server.close()
  return 0
}
