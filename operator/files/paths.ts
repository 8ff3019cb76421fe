import { type BigIntStats, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const EXTENSION = /\.(yaml|yml|json)$/

/** One `-f` argument: a file, or a folder whose files are read but whose subfolders are not. */
export interface Listing {
  /** Files in the order they are read, as the person named them. */
  files: string[]
  /** Arguments that could not be used, with what to do. */
  problems: { path: string; message: string }[]
}

/** The files that the arguments name now, each once. */
export function listFiles(paths: readonly string[]): Listing {
  const files = new Map<string, string>()
  const problems: Listing['problems'] = []
  for (const path of paths) {
    try {
      if (statSync(path).isDirectory()) {
        const found = readdirSync(path)
          .filter(isSourceName)
          .sort()
          .map(name => join(path, name))
          .filter(isFile)
        if (found.length === 0) problems.push({ path, message: 'no .yaml, .yml or .json file in this folder' })
        for (const file of found) addOnce(files, file)
      } else {
        addOnce(files, path)
      }
    } catch (error) {
      problems.push({ path, message: describeFileError(error) })
    }
  }
  return { files: [...files.values()], problems }
}

/** The folders in which a change may concern the arguments. */
export function foldersOf(paths: readonly string[]): string[] {
  const folders = paths.map(path => {
    try {
      return statSync(path).isDirectory() ? path : dirname(path)
    } catch {
      return dirname(path)
    }
  })
  return [...new Set(folders.map(folder => resolve(folder)))]
}

/**
 * Whether a change of this name may concern the arguments: `..data` is how a mounted ConfigMap changes. A log that is
 * written beside the files does not.
 */
export function concerns(name: string | null, paths: readonly string[]): boolean {
  if (name === null || name.startsWith('..') || isSourceName(name)) return true
  return paths.some(path => resolve(path).endsWith(`/${name}`))
}

/** What tells one version of a file from another without reading it. */
export interface Signature {
  /** Differs whenever the file was written or replaced. */
  id: string
  empty: boolean
  /** ms since the last write; negative when another machine's clock is ahead. */
  age: number
}

/** Undefined when the file is not there. */
export function signatureOf(file: string): Signature | undefined {
  try {
    const { mtimeNs, mtimeMs, size, ino }: BigIntStats = statSync(file, { bigint: true })
    return { id: `${mtimeNs}/${size}/${ino}`, empty: size === 0n, age: Date.now() - Number(mtimeMs) }
  } catch {
    return undefined
  }
}

export function describeFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'no such file or folder'
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read; check its permissions'
  return message
}

/** Hidden files are left out: editors keep lock and swap files beside the real one. */
function isSourceName(name: string): boolean {
  return EXTENSION.test(name) && !name.startsWith('.')
}

function isFile(file: string): boolean {
  try {
    return statSync(file).isFile()
  } catch {
    return false
  }
}

function addOnce(files: Map<string, string>, file: string): void {
  const absolute = resolve(file)
  if (!files.has(absolute)) files.set(absolute, file)
}
