/**
 * The candidate that was probably meant, or undefined when none is near: at most two edits (insert, delete, replace,
 * swap of neighbours) away and at most a third of its length; case does not count.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    const tolerated = Math.min(2, Math.max(1, Math.floor(candidate.length / 3)))
    if (distance <= tolerated && distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Optimal string alignment distance. Long words are far from everything, so that hostile names cost nothing. */
function editDistance(a: string, b: string): number {
  if (a.length > 64 || Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min(previous[j]! + 1, row[j - 1]! + 1, replaced)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, before[j - 2]! + 1)
    }
    before = previous
    previous = row
  }
  return previous[b.length]!
}
