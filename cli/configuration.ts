import { randomUUID } from 'node:crypto'
import { DRAIN_ANNOTATION } from '../crds/group.ts'
import { SNAPSHOT_SCHEMA, type Snapshot } from '../dataplane/config/snapshot.ts'
import { canonical } from '../operator/files/ledger.ts'
import type { LoadedFiles } from '../operator/files/source.ts'
import type { Content, Resource, Resources, Verdict } from '../operator/translate/types.ts'
import { EMPTY, type Examination, examine } from './examine.ts'

export interface Update extends Omit<Examination, 'content'> {
  /** The generation that was applied; absent when nothing changed for the gateway. */
  applied?: number
  /** The gateway refused the configuration; the last one stays in service. */
  refused?: string
}

/**
 * What the gateway of this process serves: the files' resources, with the drains that were asked for laid over them.
 * The epoch is new in each process and generations count up within it.
 */
export class Configuration {
  readonly epoch: string = randomUUID()
  readonly #apply: (snapshot: Snapshot) => void
  /** UIDs of backends that are drained by hand, with the reason. */
  readonly #drained = new Map<string, string>()
  #loaded: LoadedFiles
  #content: Content = EMPTY
  #applied: string | undefined
  #generation = 0
  #verdicts: Verdict[] = []
  #hadTenant = false

  constructor(loaded: LoadedFiles, apply: (snapshot: Snapshot) => void) {
    this.#loaded = loaded
    this.#apply = apply
  }

  get generation(): number {
    return this.#generation
  }

  get content(): Content {
    return this.#content
  }

  get verdicts(): Verdict[] {
    return this.#verdicts
  }

  get loaded(): LoadedFiles {
    return this.#loaded
  }

  /** Takes what the files say now, and applies it if it differs from what is in service. */
  update(loaded: LoadedFiles = this.#loaded): Update {
    this.#loaded = loaded
    const { objects } = loaded.resources
    for (const uid of this.#drained.keys()) {
      if (!objects.some(object => object.metadata.uid === uid)) this.#drained.delete(uid)
    }
    const options = { published: this.#content, anonymousFallback: !this.#hadTenant }
    const { content, verdicts, errors, warnings } = examine(loaded, this.#withDrains(loaded.resources), options)

    // Whoever removes the last tenant revokes its keys; that must not open the gateway to everyone.
    this.#hadTenant ||= verdicts.some(
      ({ kind, servedGeneration }) => kind === 'LLMTenant' && servedGeneration !== undefined,
    )
    const text = canonical(content)
    const update: Update = { verdicts, errors, warnings }
    this.#verdicts = verdicts
    if (text === this.#applied) return update
    const generation = this.#generation + 1
    try {
      this.#apply({ epoch: this.epoch, generation, schema: SNAPSHOT_SCHEMA, ...content })
    } catch (error) {
      return { ...update, refused: (error as Error).message }
    }
    this.#generation = generation
    this.#content = content
    this.#applied = text
    return { ...update, applied: generation }
  }

  /** The backend of this name as the files have it. */
  backend(namespace: string, name: string): Resource | undefined {
    return this.#loaded.resources.objects.find(
      ({ kind, metadata }) => kind === 'ModelBackend' && metadata.namespace === namespace && metadata.name === name,
    )
  }

  /** Drains a backend by hand until `undrain`, its removal or the end of the process. */
  drain(uid: string, reason: string): Update {
    if (!this.#drained.has(uid)) this.#drained.set(uid, reason)
    return this.update()
  }

  undrain(uid: string): Update {
    this.#drained.delete(uid)
    return this.update()
  }

  #withDrains({ objects, secrets }: Resources): Resources {
    const overlaid = objects.map((object): Resource => {
      const reason = this.#drained.get(object.metadata.uid)
      if (reason === undefined || object.kind !== 'ModelBackend') return object
      const annotations = { [DRAIN_ANNOTATION]: reason, ...object.metadata.annotations }
      return { ...object, metadata: { ...object.metadata, annotations } }
    })
    return { objects: overlaid, secrets }
  }
}
