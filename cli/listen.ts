import { CommandError } from './command.ts'

interface Listener {
  option: string
  host: string
  port: number
}

/** Says what to do when an address cannot be listened on; any other error is returned as it is. */
export function explainListenError(error: unknown, listeners: Listener[]): unknown {
  const { code, port } = error as NodeJS.ErrnoException & { port?: number }
  const listener = listeners.find(each => each.port === port) ?? listeners[0]!
  const where = `port ${listener.port} on ${listener.host}`
  if (code === 'EADDRINUSE') {
    return new CommandError(
      `${where} is in use: end the program that listens there, or choose another port with ${listener.option}`,
    )
  }
  if (code === 'EACCES')
    return new CommandError(`${where} may not be used: choose one above 1023 with ${listener.option}`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new CommandError(`${listener.host} is no address of this machine: choose another with --host`)
  }
  return error
}

/** Whether only programs on this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
