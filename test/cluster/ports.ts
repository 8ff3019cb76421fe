import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/** Where the ephemeral ports begin on Linux unless the system says otherwise. */
const EPHEMERAL = 32_768
const SPAN = 12_000

/**
 * A port that nobody listens on, below the ephemeral range: no outgoing connection of another test can take it between
 * this look and the moment when a server binds it. etcd and the API server cannot choose one themselves.
 */
export async function freePort(host: string): Promise<number> {
  const below = ephemeralStart()
  for (let tries = 0; tries < 50; tries++) {
    const port = below - 1 - Math.floor(Math.random() * Math.min(SPAN, below - 1025))
    if (await isFree(host, port)) return port
  }
  throw new Error(`no free port below ${below}`)
}

function ephemeralStart(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]) || EPHEMERAL
  } catch {
    return EPHEMERAL
  }
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
