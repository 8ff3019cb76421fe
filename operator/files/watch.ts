import { type FSWatcher, statSync, watch } from 'node:fs'
import { concerns, foldersOf } from './paths.ts'

/** Quiet time after a change before the files are read: editors write in several steps. */
const DEBOUNCE_MS = 50
/** The longest a file that is changed all the time can put off the reading. */
const LONGEST_DEBOUNCE_MS = 500
/** Network and container file systems deliver no events; a look at times and sizes misses nothing. */
const POLL_MS = 1_000

interface Watched {
  inode: number
  watcher: FSWatcher
}

/** Calls `look` soon after something changed in the folders of the paths, and once a second in any case. */
export class FolderWatch {
  readonly #paths: readonly string[]
  readonly #look: () => void
  readonly #watched = new Map<string, Watched>()
  readonly #poll: NodeJS.Timeout
  #debounce: NodeJS.Timeout | undefined
  #firstChange: number | undefined

  constructor(paths: readonly string[], look: () => void) {
    this.#paths = paths
    this.#look = look
    this.#watchFolders()
    this.#poll = setInterval(() => {
      this.#watchFolders()
      if (!this.#debounce) look()
    }, POLL_MS)
  }

  /** Looks again after `delay` ms, unless a change comes first. */
  lookAgain(delay: number): void {
    this.#schedule(delay)
  }

  close(): void {
    clearInterval(this.#poll)
    clearTimeout(this.#debounce)
    for (const { watcher } of this.#watched.values()) watcher.close()
    this.#watched.clear()
  }

  #schedule(delay: number): void {
    clearTimeout(this.#debounce)
    this.#debounce = setTimeout(() => {
      this.#debounce = undefined
      this.#firstChange = undefined
      this.#look()
    }, delay)
  }

  #changed(): void {
    const now = performance.now()
    this.#firstChange ??= now
    const left = this.#firstChange + LONGEST_DEBOUNCE_MS - now
    this.#schedule(Math.max(0, Math.min(DEBOUNCE_MS, left)))
  }

  /** A folder that was removed and made again is another inode, and the old watch sees nothing of it. */
  #watchFolders(): void {
    for (const folder of foldersOf(this.#paths)) {
      const inode = inodeOf(folder)
      const current = this.#watched.get(folder)
      if (current && current.inode === inode) continue
      current?.watcher.close()
      this.#watched.delete(folder)
      if (inode === undefined) continue
      try {
        const watcher = watch(folder, { persistent: false }, (_, name) => {
          if (concerns(name, this.#paths)) this.#changed()
        })
        watcher.on('error', () => {
          watcher.close()
          this.#watched.delete(folder)
        })
        this.#watched.set(folder, { inode, watcher })
      } catch {
        // Out of watches (inotify limits): the poll alone finds the changes.
      }
    }
  }
}

function inodeOf(folder: string): number | undefined {
  try {
    return statSync(folder).ino
  } catch {
    return undefined
  }
}
