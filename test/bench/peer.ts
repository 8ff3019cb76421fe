/** A proxy in front of the upstream: everything that is measured of it is measured from outside, by URL and pid. */
export interface Peer {
  name: string
  url: string
  pid: number
  stop(): Promise<void>
}
