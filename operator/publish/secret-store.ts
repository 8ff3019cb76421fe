/** A Secret as far as publishing needs it. */
export interface StoredSecret {
  /** Changes with every write; what compare-and-swap compares. */
  resourceVersion: string
  data: Record<string, Buffer>
}

/** Somebody else wrote in between (HTTP 409, or 404 on a replace): what was known is stale. */
export class Conflict extends Error {}

/** The Secrets of one namespace, by name. */
export interface SecretStore {
  get(name: string): Promise<StoredSecret | null>
  /** @throws Conflict when it exists already */
  create(name: string, data: Record<string, Buffer>): Promise<StoredSecret>
  /** @throws Conflict when its resourceVersion is another, or it is gone */
  replace(name: string, data: Record<string, Buffer>, resourceVersion: string): Promise<StoredSecret>
}
