/**
 * The demo model's tokens. A token is a word (a run of letters, digits, `_`, and characters beyond ASCII) or one other
 * visible character; white space belongs to the token after it, at the end of a text to the last one. White space alone
 * has no token. Counts are therefore easy to check by hand.
 */

const SPACE = 0
const WORD = 1
const MARK = 2

function kindOf(code: number): number {
  if (code <= 32 || code === 0xa0 || code === 0x3000 || (code >= 0x2000 && code <= 0x200a)) return SPACE
  if (code === 0x2028 || code === 0x2029 || code === 0xfeff) return SPACE
  if (code >= 128 || code === 95) return WORD
  if ((code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)) return WORD
  return MARK
}

/** Calls `token(end)` with the offset after each token's last visible character. One pass, no allocation. */
function scan(text: string, token: (end: number) => void): void {
  let inWord = false
  for (let i = 0; i < text.length; i++) {
    const kind = kindOf(text.charCodeAt(i))
    if (inWord && kind !== WORD) token(i)
    inWord = kind === WORD
    if (kind === MARK) token(i + 1)
  }
  if (inWord) token(text.length)
}

/** Number of tokens in `text`; always equal to `tokenize(text).length`. */
export function countTokens(text: string): number {
  let count = 0
  scan(text, () => count++)
  return count
}

/** The tokens of `text` in order; joined they are `text` again, unless it is white space alone (no token). */
export function tokenize(text: string): string[] {
  const tokens: string[] = []
  let from = 0
  scan(text, end => {
    tokens.push(text.slice(from, end))
    from = end
  })
  if (tokens.length > 0 && from < text.length) tokens[tokens.length - 1] += text.slice(from)
  return tokens
}
