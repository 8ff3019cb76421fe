/** What identifies us to the API server. */
export interface Credentials {
  /** Bearer token. */
  token?: string
  /** Client certificate and its key, PEM. */
  cert?: string | Buffer
  key?: string | Buffer
}

/** What identifies the API server to us. */
export interface Trust {
  /** PEM; absent: the CAs that Node.js brings. */
  ca?: string | Buffer
  /** The name that the certificate must carry, where it is not the host of the URL. */
  serverName?: string
  /** The certificate is not looked at. */
  insecure: boolean
}

/**
 * How to reach one API server. `credentials` and `trust` are asked again for each request or connection, so that what
 * rotates is followed; both are cheap between rotations.
 */
export interface ClusterAccess {
  /** May have a path, which is put before every request's own. */
  readonly server: URL
  /** The namespace that commands mean when they name none: the context's, or the pod's own. */
  readonly namespace: string
  credentials(): Promise<Credentials>
  trust(): Promise<Trust>
  /** The server no longer knows the credentials (401): get them anew. */
  invalidate(): void
}
