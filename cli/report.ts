import { type FileProblem, formatPlace } from '../operator/files/problem.ts'
import { coloursFor } from './colour.ts'

/** The lines for people that `weir run` writes to stderr; stdout carries nothing but the access log. */
export class Report {
  readonly #colours = coloursFor(process.stderr)
  #shown: ReadonlySet<string> = new Set()
  #noticed: ReadonlySet<string> = new Set()

  line(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  good(text: string): void {
    this.line(this.#colours.green(text))
  }

  warning(text: string): void {
    this.line(`${this.#colours.yellow('warning:')} ${text}`)
  }

  error(text: string): void {
    this.line(`${this.#colours.red('weir:')} ${text}`)
  }

  /** Shows the problems that were not there the last time; says so when the last one has gone. */
  problems(errors: readonly FileProblem[], warnings: readonly FileProblem[]): void {
    const now = [
      ...errors.map(problem => this.#format(problem, '')),
      ...warnings.map(problem => this.#format(problem, `${this.#colours.yellow('warning:')} `)),
    ]
    for (const text of now) if (!this.#shown.has(text)) this.line(text)
    if (this.#shown.size > 0 && now.length === 0) this.good('no problems left')
    this.#shown = new Set(now)
  }

  /** Shows what has begun to hold since the last time. */
  notices(texts: readonly string[]): void {
    for (const text of texts) if (!this.#noticed.has(text)) this.warning(text)
    this.#noticed = new Set(texts)
  }

  #format(problem: FileProblem, label: string): string {
    return `${this.#colours.bold(`${formatPlace(problem)}:`)} ${label}${problem.message}`
  }
}
