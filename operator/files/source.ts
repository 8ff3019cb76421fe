import { readFileSync } from 'node:fs'
import type { Resource, Resources, Secret } from '../translate/types.ts'
import { type Entry, type FileKind, readDocument } from './document.ts'
import { Ledger, objectKey } from './ledger.ts'
import { parseFile } from './parse.ts'
import { describeFileError, listFiles, type Signature, signatureOf } from './paths.ts'
import type { Path } from './positions.ts'
import { type FileProblem, formatPlace, type Place } from './problem.ts'
import { FolderWatch } from './watch.ts'

/** An object as the files have it now, sound or not. */
export interface FileObject {
  kind: FileKind
  namespace: string
  name: string
  /** Of the newest version, even when that is not the one in use; absent for Secrets. */
  identity?: { uid: string; generation: number }
  /** What is wrong with the newest version. */
  problems: FileProblem[]
  at(path: Path): Place
}

export interface LoadedFiles {
  /** Every object as it is written now, sound or not, and the last good version of every Secret. */
  resources: Resources
  /** In the order of the files. */
  problems: FileProblem[]
  /** By `objectKey`; Secrets too. */
  objects: Map<string, FileObject>
}

/** A file that is gone or empty is believed at a second look: editors and `>` pass through both on every save. */
const SECOND_LOOK_MS = 200
/** A file written more recently than this may still be being written. */
const WRITING_MS = 40

interface FileState {
  /** `id` of the version that was read. */
  signature: string
  entries: Entry[]
  /** Entries of an earlier version, kept because the file cannot be understood now. */
  kept: Entry[]
  problems: FileProblem[]
}

/** Resources kept in files. Every change of a file is read as a whole; what cannot be used leaves the last good version. */
export class FileSource {
  readonly #paths: readonly string[]
  readonly #environment: Record<string, string | undefined>
  readonly #ledger = new Ledger()
  readonly #files = new Map<string, FileState>()
  readonly #goneSince = new Map<string, number>()
  readonly #lastSecrets = new Map<string, Secret>()
  #listingProblems: FileProblem[] = []
  #order: string[] = []
  #watch: FolderWatch | undefined

  constructor(paths: readonly string[], environment: Record<string, string | undefined> = process.env) {
    this.#paths = paths
    this.#environment = environment
  }

  /** Reads what is there. Problems are returned, never thrown. */
  load(): LoadedFiles {
    this.#look()
    return this.#assemble()
  }

  /** Calls `onChange` after each change of the files until `close`. */
  watch(onChange: (loaded: LoadedFiles) => void): void {
    this.#watch = new FolderWatch(this.#paths, () => {
      const { changed, unsettled } = this.#look()
      if (unsettled) this.#watch?.lookAgain(WRITING_MS)
      if (changed) onChange(this.#assemble())
    })
  }

  close(): void {
    this.#watch?.close()
    this.#watch = undefined
  }

  #look(): { changed: boolean; unsettled: boolean } {
    const listing = listFiles(this.#paths)
    const listingProblems = listing.problems.map(({ path, message }) => ({ file: path, line: 0, column: 0, message }))
    let changed = JSON.stringify(listingProblems) !== JSON.stringify(this.#listingProblems)
    let unsettled = false
    this.#listingProblems = listingProblems

    const known = this.#order.filter(file => !listing.files.includes(file))
    this.#order = [...listing.files, ...known]
    for (const file of this.#order) {
      const outcome = this.#lookAt(file)
      changed ||= outcome === 'changed'
      unsettled ||= outcome === 'unsettled'
    }
    this.#order = this.#order.filter(file => this.#files.has(file))
    return { changed, unsettled }
  }

  #lookAt(file: string): 'same' | 'changed' | 'unsettled' {
    const signature = signatureOf(file)
    const state = this.#files.get(file)
    if (state && signature?.id === state.signature) {
      this.#goneSince.delete(file)
      return 'same'
    }
    if (state && this.#inMotion(file, state, signature)) return 'unsettled'
    this.#goneSince.delete(file)
    if (!signature) return this.#files.delete(file) ? 'changed' : 'same'

    const next = this.#read(file, signature.id, state)
    if (signatureOf(file)?.id !== signature.id) return 'unsettled'
    this.#files.set(file, next)
    return 'changed'
  }

  /** Whether someone is probably in the middle of saving the file. */
  #inMotion(file: string, state: FileState, signature: Signature | undefined): boolean {
    if (signature && !signature.empty) return signature.age >= 0 && signature.age < WRITING_MS
    if (state.entries.length + state.kept.length === 0) return false
    const since = this.#goneSince.get(file) ?? performance.now()
    this.#goneSince.set(file, since)
    return performance.now() - since < SECOND_LOOK_MS
  }

  #read(file: string, signature: string, before: FileState | undefined): FileState {
    const earlier = before ? [...before.entries, ...before.kept] : []
    let text: string
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
    } catch (error) {
      const message = error instanceof TypeError ? 'not UTF-8 text' : describeFileError(error)
      return { signature, entries: [], kept: earlier, problems: [{ file, line: 0, column: 0, message }] }
    }
    const { documents, problems } = parseFile(file, text)
    const entries: Entry[] = []
    for (const document of documents) {
      const read = readDocument(document, this.#environment)
      if (read.entry) entries.push(read.entry)
      problems.push(...(read.entry ? [] : read.problems))
    }
    // Whatever an unreadable part was meant to be, it may be any of the objects that are missing now.
    return { signature, entries, kept: problems.length > 0 ? earlier : [], problems }
  }

  #assemble(): LoadedFiles {
    const problems = [...this.#listingProblems]
    const entries = new Map<string, Entry>()
    const kept: Entry[] = []
    for (const file of this.#order) {
      const state = this.#files.get(file)!
      kept.push(...state.kept)
      // Renamed, most likely: the same objects under the new name are no duplicates.
      if (this.#goneSince.has(file)) kept.push(...state.entries)
      if (this.#goneSince.has(file)) continue
      problems.push(...state.problems)
      for (const entry of state.entries) {
        const key = objectKey(entry.kind, entry.namespace, entry.name)
        const first = entries.get(key)
        problems.push(...(first ? [duplicate(entry, first)] : entry.problems))
        if (!first) entries.set(key, entry)
      }
    }
    for (const entry of kept) {
      const key = objectKey(entry.kind, entry.namespace, entry.name)
      if (!entries.has(key)) entries.set(key, entry)
    }

    this.#ledger.keepOnly(new Set(entries.keys()))
    for (const key of this.#lastSecrets.keys()) if (!entries.has(key)) this.#lastSecrets.delete(key)

    const objects = new Map<string, FileObject>()
    const resources: Resources = { objects: [], secrets: [] }
    // In the order of names, so that moving a document between files changes nothing.
    for (const [key, entry] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const { kind, namespace, name, problems, document } = entry
      const shown = { kind, namespace, name, problems, at: (path: Path) => document.at(path) }
      const resource = this.#resourceOf(entry)
      if (resource) resources.objects.push(resource)
      if (entry.secret) this.#lastSecrets.set(key, entry.secret)
      const secret = this.#lastSecrets.get(key)
      if (secret) resources.secrets.push(secret)
      objects.set(key, { ...shown, ...(resource && { identity: resource.metadata }) })
    }
    return { resources, problems, objects }
  }

  /** What is written goes on as it is: translation keeps the last good rendering of an object that is not sound. */
  #resourceOf({ kind, namespace, name, object }: Entry): Resource | undefined {
    if (!object) return undefined
    const identity = this.#ledger.record(kind, namespace, name, object.spec)
    const { annotations } = object.metadata
    const metadata = { name, namespace, ...identity, ...(annotations && { annotations }) }
    return { apiVersion: object.apiVersion, kind: object.kind, metadata, spec: object.spec }
  }
}

function duplicate(entry: Entry, first: Entry): FileProblem {
  const what = `${entry.kind} ${entry.namespace}/${entry.name}`
  const where = formatPlace(first.document.at([]))
  return {
    ...entry.document.at(['metadata', 'name']),
    message: `${what} is defined twice; the first stands at ${where}`,
  }
}
