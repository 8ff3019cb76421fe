/** A model name or pattern; `*` stands for any characters, none included. Matching is linear for one star. */
export interface ModelPattern {
  text: string
  exact: boolean
  /** Length of what stands before the first star; the whole length where there is none. */
  literalPrefix: number
  matches(model: string): boolean
}

export function compilePattern(text: string): ModelPattern {
  const parts = text.split('*')
  const first = parts[0]!
  if (parts.length === 1) return { text, exact: true, literalPrefix: text.length, matches: model => model === text }
  return { text, exact: false, literalPrefix: first.length, matches: model => matchParts(parts, model) }
}

/** First part at the beginning, last at the end, the others in order between: greedy from the left is enough. */
function matchParts(parts: string[], model: string): boolean {
  const first = parts[0]!
  const last = parts[parts.length - 1]!
  if (model.length < first.length + last.length) return false
  if (!model.startsWith(first) || !model.endsWith(last)) return false
  const end = model.length - last.length
  let at = first.length
  for (let i = 1; i < parts.length - 1; i++) {
    const found = model.indexOf(parts[i]!, at)
    if (found < 0 || found + parts[i]!.length > end) return false
    at = found + parts[i]!.length
  }
  return true
}
