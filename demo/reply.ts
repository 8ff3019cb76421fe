import { hash } from './hash.ts'
import { tokenize } from './tokenizer.ts'

const OPENERS = [
  (asked: string) => `You asked: "${asked}"`,
  (asked: string) => `Thank you for "${asked}"`,
  (asked: string) => `I read "${asked}" and this is my answer.`,
  (asked: string) => `Here is what reached me: "${asked}"`,
]
const ABOUT = [
  'This is the demo model of Weir: it knows nothing, but it is always here.',
  'I am the demo model of Weir, and I answer without a key and without a GPU.',
  'You are talking to the demo model of Weir, a few small files of code behind an ordinary backend.',
]
const CLOSERS = [
  'The same question always gets the same answer.',
  'Point a route at a real backend and the same request will reach a real model.',
  'Ask me to count to 100 if you would like a longer stream.',
  'Every token that I write is counted, so the usage below this text is true.',
]
const SILENCE = 'Hello! You sent no text.'

const ECHO_CHARACTERS = 80
const COUNT_LIMIT = 2000

/** The beginning of what was asked, on one line and cut between words; at most `ECHO_CHARACTERS`. */
function echoOf(question: string): string {
  // The slice bounds the work on a long text; the margin leaves room for white space that collapses.
  const line = question.slice(0, 4096).replace(/\s+/g, ' ').trim()
  if (line.length <= ECHO_CHARACTERS) return line
  const cut = line.lastIndexOf(' ', ECHO_CHARACTERS)
  const end = cut > 0 ? cut : ECHO_CHARACTERS
  // Never between the halves of a surrogate pair.
  const whole = /[\ud800-\udbff]/.test(line[end - 1]!) ? end - 1 : end
  return `${line.slice(0, whole)}…`
}

/** "count to N" is answered by counting, so that a long stream can be asked for. N is at most 2,000. */
function counting(question: string): string | undefined {
  const asked = /\bcount\s{1,8}(?:up\s)?to\s{1,8}(\d{1,9})\b/i.exec(question.slice(0, 4096))
  if (!asked) return undefined
  const last = Math.min(Number(asked[1]), COUNT_LIMIT)
  if (last < 1) return undefined
  return `${Array.from({ length: last }, (_, i) => i + 1).join(', ')}.`
}

/** What the demo model says to `question`, the last thing the user wrote: a function of nothing else. */
export function replyTo(question: string): string {
  const counted = counting(question)
  if (counted) return counted
  const h = hash(question)
  const echo = echoOf(question)
  const opener = echo === '' ? SILENCE : OPENERS[h % OPENERS.length]!(echo)
  const about = ABOUT[(h >>> 8) % ABOUT.length]!
  const closer = CLOSERS[(h >>> 16) % CLOSERS.length]!
  return `${opener} ${about} ${closer}`
}

export interface Generated {
  /** What is sent, one piece a token; joined it is the whole text. */
  tokens: string[]
  /** Why it ended there: the text was complete, a stop sequence came, or the limit was reached. */
  end: 'complete' | 'stopSequence' | 'limit'
  /** The stop sequence that was met; the text ends before it. */
  stopSequence: string | null
}

/** Cuts `text` as a model would that writes token by token: at the first stop sequence, or after `limit` tokens. */
export function generate(text: string, limit: number, stops: readonly string[]): Generated {
  const all = tokenize(text)
  const tokens = all.slice(0, limit)
  const written = tokens.join('')
  let first: { at: number; stop: string } | undefined
  for (const stop of stops) {
    const at = written.indexOf(stop)
    if (at >= 0 && (!first || at < first.at)) first = { at, stop }
  }
  if (first) return { tokens: tokenize(written.slice(0, first.at)), end: 'stopSequence', stopSequence: first.stop }
  return { tokens, end: tokens.length < all.length ? 'limit' : 'complete', stopSequence: null }
}
