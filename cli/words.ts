/** `1 route`, `2 routes`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** A length of time for people: `45s`, `3m 20s`, `2h 5m`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  const [large, small] = minutes < 60 ? [`${minutes}m`, whole % 60 ? ` ${whole % 60}s` : ''] : hours(minutes)
  return `${large}${small}`
}

function hours(minutes: number): [string, string] {
  return [`${Math.floor(minutes / 60)}h`, minutes % 60 ? ` ${minutes % 60}m` : '']
}

/** Columns padded to their widest cell, two spaces apart; nothing is cut. */
export function table(header: string[], rows: string[][]): string[] {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map(row => row[column]?.length ?? 0)))
  return [header, ...rows].map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
