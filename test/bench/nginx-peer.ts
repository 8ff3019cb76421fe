import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../kit/patience.ts'
import { Child } from './child.ts'
import type { Peer } from './peer.ts'

// Where distributions put it: not on everybody's PATH.
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }

/** Version of the nginx that is installed, or null. */
export function nginxVersion(): string | null {
  const { stderr } = spawnSync('nginx', ['-v'], { env: ENV, encoding: 'utf8' })
  return /nginx\/(\S+)/.exec(stderr ?? '')?.[1] ?? null
}

/**
 * nginx as a plain proxy: connections to the upstream kept, nothing buffered, an access log in a file, one process. The
 * log is written in batches, as the gateway's own is.
 */
export async function startNginx(upstreamPort: number, core: string | undefined): Promise<Peer> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-bench-nginx-'))
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  await writeFile(file, configuration(folder, port, upstreamPort))
  const child = new Child('nginx', ['-c', file, '-e', join(folder, 'error.log')], { core, env: ENV })
  const stop = async () => {
    await child.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await eventually(() => listens(port) || (child.running ? false : fail(child.stderr)))
  } catch (error) {
    await stop()
    throw error
  }
  return { name: 'nginx', url: `http://127.0.0.1:${port}`, pid: child.pid, stop }
}

function fail(message: string): never {
  throw new Error(`nginx ended: ${message}`)
}

function configuration(folder: string, port: number, upstreamPort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 8192; }
http {
  ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  access_log ${folder}/access.log combined buffer=64k flush=1s;
  keepalive_requests 1000000000;
  keepalive_timeout 620s;
  upstream model_server {
    server 127.0.0.1:${upstreamPort};
    keepalive 1024;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    client_max_body_size 16m;
    client_body_buffer_size 64k;
    location / {
      proxy_pass http://model_server;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`
}

/** nginx cannot say which port it took, so one is looked for beforehand. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise<void>(resolve => server.close(() => resolve()))
  if (typeof address !== 'object' || !address) throw new Error('no free port')
  return address.port
}

async function listens(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
