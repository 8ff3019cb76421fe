import { type Document, isAlias, isMap, isPair, isScalar, isSeq, type LineCounter, type Node, type Pair } from 'yaml'

export type Path = readonly (string | number)[]

/** Finds where a field stands in a YAML document, so that a problem can be shown at the node itself. */
export class Positions {
  readonly #document: Document.Parsed
  readonly #lines: LineCounter

  constructor(document: Document.Parsed, lines: LineCounter) {
    this.#document = document
    this.#lines = lines
  }

  /** The value at `path`; where it is absent, the key of the deepest parent that exists. */
  value(path: Path): { line: number; column: number } {
    return this.#find(path, false)
  }

  /** The key at the end of `path`: the right spot for a field that should not be there at all. */
  key(path: Path): { line: number; column: number } {
    return this.#find(path, true)
  }

  #find(path: Path, wantKey: boolean): { line: number; column: number } {
    let node = this.#follow(this.#document.contents)
    let offset = start(node) ?? 0
    for (const [index, step] of path.entries()) {
      const pair: Pair | undefined = isMap(node) ? this.#pair(node.items, step) : undefined
      const next = pair ? pair.value : isSeq(node) && typeof step === 'number' ? node.items[step] : undefined
      if (!pair && next === undefined) break
      const last = index === path.length - 1
      const keyOffset = pair ? start(pair.key) : undefined
      // A parent whose child is missing is shown by its key: its value begins at some innocent sibling.
      const valueOffset = last && !wantKey ? writtenStart(next) : undefined
      offset = valueOffset ?? keyOffset ?? start(next) ?? offset
      node = this.#follow(next)
    }
    const { line, col } = this.#lines.linePos(offset)
    return { line, column: col }
  }

  #pair(items: readonly unknown[], step: string | number): Pair | undefined {
    const pairs = items.filter(isPair)
    const own = pairs.find(pair => keyOf(pair) === String(step))
    if (own) return own
    for (const pair of pairs) {
      if (keyOf(pair) !== '<<') continue
      const merged = this.#follow(pair.value)
      const sources = isSeq(merged) ? merged.items.map(item => this.#follow(item)) : [merged]
      for (const source of sources) {
        const found = isMap(source) ? this.#pair(source.items, step) : undefined
        if (found) return found
      }
    }
    return undefined
  }

  #follow(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.#document) : node
  }
}

function keyOf(pair: Pair): string {
  const key: unknown = isScalar(pair.key) ? pair.key.value : pair.key
  return typeof key === 'symbol' ? (key.description ?? '') : String(key)
}

function start(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0]
}

/** Undefined for `key:` with nothing behind it, whose value has no characters to point at. */
function writtenStart(node: unknown): number | undefined {
  if (isScalar(node) && node.range && node.range[0] === node.range[1]) return undefined
  return start(node)
}
