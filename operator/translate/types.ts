import type { KindName } from '../../crds/kinds.ts'
import type { Snapshot } from '../../dataplane/config/snapshot.ts'

/** One object as it came from the API server or from a file; `spec` has not been checked. */
export interface Resource {
  apiVersion: string
  kind: KindName
  metadata: {
    name: string
    namespace: string
    uid: string
    generation: number
    /** RFC 3339, to the second. Absent where objects have no age (files); then name order decides. */
    creationTimestamp?: string
    annotations?: Record<string, string>
  }
  spec: unknown
}

/** A Secret that objects may refer to. */
export interface Secret {
  namespace: string
  name: string
  /** Whether it carries the credentials label; without it, it is not read. */
  labelled: boolean
  /** Values as text, base64 already decoded. */
  data: Record<string, string>
}

export interface Resources {
  objects: Resource[]
  secrets: Secret[]
}

/** What a snapshot carries besides its epoch and generation. */
export type Content = Pick<Snapshot, 'backends' | 'routes' | 'tenants' | 'policies'>

/** The content of the last snapshot: what an object that turned invalid goes on serving. */
export type Published = Content

export interface TranslateOptions {
  /** Name of the gateway fleet; objects of another fleet take no part. */
  gateway: string
  /** Namespaces whose LLMTenants may be anonymous. */
  anonymousNamespaces: '*' | string[]
  /** Without any LLMTenant: one anonymous tenant that may use the routes of every namespace. */
  anonymousFallback: boolean
  /** The time, in ms since the epoch: drain deadlines are counted from it. */
  now: number
}

export interface Condition {
  type: 'Accepted' | 'ResolvedRefs' | 'PartiallyInvalid'
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
}

/** One thing that is wrong with an object, and where. */
export interface VerdictProblem {
  /** Stable code: a reason of the conditions, or a code of `crds/validate.ts`. */
  reason: string
  message: string
  /** From the root of the object, such as `['spec', 'backends', 0, 'name']`. */
  path?: (string | number)[]
}

/** What translation found about one object. */
export interface Verdict {
  kind: KindName
  namespace: string
  name: string
  uid: string
  /** The generation that was looked at. */
  generation: number
  /** The generation of the spec that the content serves; absent when the content does not hold the object. */
  servedGeneration?: number
  conditions: Condition[]
  problems: VerdictProblem[]
}

export interface Translation {
  content: Content
  /** One for each object of this gateway, by kind, namespace and name. */
  verdicts: Verdict[]
}
