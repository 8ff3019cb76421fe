/** FNV-1a over the UTF-16 code units of `text`, as an unsigned 32-bit number. Not for secrets. */
export function hash(text: string, seed = 0x811c9dc5): number {
  let h = seed
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  // FNV's low bits mix poorly for short texts; the finalizer of MurmurHash3 spreads them.
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** An id that is a function of the input: `prefix` and 16 hex digits. */
export function idOf(prefix: string, input: string): string {
  const hex = (n: number) => n.toString(16).padStart(8, '0')
  return `${prefix}${hex(hash(input))}${hex(hash(input, 0x9e3779b9))}`
}
