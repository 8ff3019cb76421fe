/** Middle and ends of some measurements of the same thing. */
export interface Spread {
  median: number
  low: number
  high: number
}

/** @throws RangeError when there are no values */
export function spread(values: readonly number[]): Spread {
  return { median: percentile(values, 50), low: Math.min(...values), high: Math.max(...values) }
}

/**
 * The value that `percent` of the values do not exceed, interpolated between neighbours.
 *
 * @throws RangeError when there are no values
 */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) throw new RangeError('there are no values')
  const sorted = values.toSorted((a, b) => a - b)
  const at = (percent / 100) * (sorted.length - 1)
  const below = sorted[Math.floor(at)]!
  const above = sorted[Math.ceil(at)]!
  return below + (above - below) * (at - Math.floor(at))
}

/** `24.1 µs (23.8–25.0)`. */
export function formatSpread({ median, low, high }: Spread, digits: number, unit = ''): string {
  return `${median.toFixed(digits)}${unit && ` ${unit}`} (${low.toFixed(digits)}–${high.toFixed(digits)})`
}

/** A table in Markdown, its columns padded to the widest cell. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map(row => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`
  return [line(header), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
