import { z } from 'zod'
import { absentMeans, DEFAULTS } from './defaults.ts'
import { atomic, type Rule, withRules } from './rules.ts'

/**
 * A string of `min` to `max` characters. `form` says in words what the pattern demands: it ends an error that begins
 * with "must be", and the generated reference shows it. Patterns run in zod and in Go's RE2: no look-around, and no
 * `\s`, which covers more in JavaScript.
 */
function text(form: string, min: number, max: number, pattern: RegExp) {
  return z.string().min(min).max(max).regex(pattern, `must be ${form}`).meta({ form })
}

/** Name of a namespaced object (RFC 1123 subdomain). */
export const objectName = text(
  'lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit',
  1,
  253,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
)

/** Name of a namespace, and of an item in a list (RFC 1123 label). */
export const label = text(
  'lower-case letters, digits and "-", beginning and ending with a letter or digit',
  1,
  63,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
)

/** Key inside a Secret. */
export const secretKey = text('letters, digits, "-", "_" and "."', 1, 253, /^[-._a-zA-Z0-9]+$/)

/** Name of an HTTP header (RFC 9110 §5.1 token). */
export const headerName = text(
  'a header name such as x-team, without spaces and colons',
  1,
  256,
  /^[A-Za-z0-9!#$%&'*+.^_|~-]+$/,
)

/** Value of an HTTP header: visible ASCII, spaces and tabs inside (RFC 9110 §5.5). */
export const headerValue = text(
  'visible ASCII characters, with spaces and tabs only between them',
  1,
  4096,
  /^[!-~]([ -~\t]*[!-~])?$/,
)

/** Name of a model, or a pattern of names; `*` stands for any characters. */
export const modelPattern = text('a model name of visible ASCII characters, without spaces', 1, 256, /^[!-~]+$/)

/** Name of a model as an upstream knows it. */
export const upstreamModel = text('a model name without control characters', 1, 256, /^[^\p{Cc}]+$/u)

/** Notation of a length of time, as in Gateway API (GEP-2257), whatever the length. */
export const durationText = text('a duration such as 30s, 1m30s or 250ms', 1, 32, /^([0-9]{1,5}(h|m|s|ms)){1,4}$/)

/** A length of time, at most 168h: Node's timers overflow at 24.8 days and then fire at once. */
export const duration = withRules(durationText, [
  {
    cel: "duration(self) <= duration('168h')",
    message: 'must be at most 168h',
    holds: value => parseDuration(value) <= 604_800_000,
  },
])

/** A length of time above zero, for deadlines: at 0s every request would have failed before it began. */
export const positiveDuration = withRules(duration, [
  {
    cel: "duration(self) > duration('0s')",
    message: 'must be longer than 0s',
    holds: value => parseDuration(value) > 0,
  },
])

const UNIT_MS: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/** Milliseconds of a duration that the schema has accepted. */
export function parseDuration(text: string): number {
  let total = 0
  for (const [, count, unit] of text.matchAll(/([0-9]+)(h|ms|m|s)/g)) total += Number(count) * UNIT_MS[unit!]!
  return total
}

/** Which gateway fleet an object belongs to. */
export const gateway = label.describe(
  `Name of the gateway fleet that this object belongs to. Cannot be changed after creation. ${absentMeans(DEFAULTS.gateway)}`,
)

/** On every spec: the fleet is fixed at creation, and absent is the same as the default. */
export const GATEWAY_IMMUTABLE = {
  rule: `(has(self.gateway) ? self.gateway : '${DEFAULTS.gateway}') == (has(oldSelf.gateway) ? oldSelf.gateway : '${DEFAULTS.gateway}')`,
  message: 'gateway cannot be changed; delete the object and create it again',
}

/** A reference to one key of a Secret in the object's own namespace. */
export const secretKeyRef = z
  .object({
    name: objectName.describe('Name of the Secret, in the same namespace.'),
    key: secretKey.describe('Key inside the Secret.'),
  })
  .describe('Where the value is kept. The Secret must carry the label weir.dev/credentials: "true".')

/** A header with its value. */
export const headerPair = z
  .object({
    name: headerName.describe('Name of the header; case does not matter.'),
    value: headerValue.describe('Value of the header.'),
  })
  .describe('One header.')

/** A list of headers; `uniqueHeaders` belongs to the object that holds it. */
export function headerList(item: typeof headerPair) {
  return atomic(z.array(item).max(32))
}

/** No name stands twice in the header list under `field`, whatever its case. */
export function uniqueHeaders<K extends string>(field: K): Rule<{ [P in K]?: { name: string; value: string }[] }> {
  return {
    cel: `!has(self.${field}) || self.${field}.all(a, self.${field}.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))`,
    message: 'must not name a header twice, whatever its case',
    path: [field],
    holds: value => {
      const names = value[field]?.map(header => header.name.toLowerCase()) ?? []
      return new Set(names).size === names.length
    },
  }
}
