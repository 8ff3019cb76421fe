import { type Document, LineCounter, parseAllDocuments, visit } from 'yaml'
import { formatPath } from '../../crds/path.ts'
import { isObject } from '../../crds/problem.ts'
import { type Path, Positions } from './positions.ts'
import type { FileProblem, Place } from './problem.ts'

/** One document of a file, or one item of a `kind: List`. */
export interface SourceDocument {
  value: Record<string, unknown>
  /** Where the value at a path of this document stands, or the key at the end of it. */
  at(path: Path, spot?: 'key' | 'value'): Place
}

export interface ParsedFile {
  documents: SourceDocument[]
  problems: FileProblem[]
}

/**
 * Splits a YAML or JSON file into documents and flattens Lists. A file with any syntax error yields no documents: what
 * a parser makes of the rest is a guess.
 */
export function parseFile(file: string, text: string): ParsedFile {
  const content = text.startsWith('\uFEFF') ? text.slice(1) : text
  const lines = new LineCounter()
  // Kubernetes' own reader understands merge keys, so do these files.
  const parsed = parseAllDocuments(content, { lineCounter: lines, prettyErrors: false, merge: true })
  const yamlDocuments: Document.Parsed[] = Array.isArray(parsed) ? parsed : []
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }

  const problems: FileProblem[] = []
  for (const document of yamlDocuments) {
    for (const error of [...document.errors, ...document.warnings]) {
      problems.push({ ...place(error.pos[0]), message: `not valid YAML: ${lowerFirst(error.message)}` })
    }
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document)) return
        problems.push({
          ...place(alias.range?.[0] ?? 0),
          message: `not valid YAML: no anchor &${alias.source} before it`,
        })
      },
    })
  }
  if (problems.length > 0) return { documents: [], problems }

  const documents: SourceDocument[] = []
  for (const document of yamlDocuments) {
    const positions = new Positions(document, lines)
    const at = (path: Path, spot: 'key' | 'value' = 'value'): Place => ({ file, ...positions[spot](path) })
    try {
      flatten(document.toJS({ maxAliasCount: 100 }), [], at, documents, problems)
    } catch (error) {
      // Aliases that multiply into an unreasonable size.
      problems.push({ ...at([]), message: `not valid YAML: ${lowerFirst((error as Error).message)}` })
    }
  }
  return { documents, problems }
}

function flatten(
  value: unknown,
  prefix: Path,
  at: (path: Path, spot?: 'key' | 'value') => Place,
  documents: SourceDocument[],
  problems: FileProblem[],
): void {
  // A document with nothing but comments.
  if (value === null && prefix.length === 0) return
  if (!isObject(value)) {
    const what = prefix.length > 0 ? formatPath(prefix) : 'the document'
    problems.push({
      ...at(prefix),
      message: `${what} is not an object; it must have apiVersion, kind, metadata and spec`,
    })
    return
  }
  if (value.kind !== 'List') {
    documents.push({ value, at: (path, spot) => at([...prefix, ...path], spot) })
    return
  }
  if (value.apiVersion !== 'v1') {
    problems.push({ ...at([...prefix, 'apiVersion']), message: 'a List has apiVersion: v1' })
  }
  for (const field of Object.keys(value)) {
    if (['apiVersion', 'kind', 'metadata', 'items'].includes(field)) continue
    problems.push({ ...at([...prefix, field], 'key'), message: `unknown field ${JSON.stringify(field)} in a List` })
  }
  if (!Array.isArray(value.items)) {
    problems.push({ ...at([...prefix, 'items']), message: 'items of a List must be a list of objects' })
    return
  }
  value.items.forEach((item, index) => {
    flatten(item, [...prefix, 'items', index], at, documents, problems)
  })
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
