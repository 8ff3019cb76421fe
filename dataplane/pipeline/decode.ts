import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'

const DECODERS: Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Buffer> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/** Most bytes that a compressed body may grow to while it is judged. */
const MAX_DECODED = 1024 * 1024

/** A decoded copy of a small body; null where the encoding is unknown or the bytes are not in it. */
export function decode(bytes: Buffer, encoding: string | undefined): Buffer | null {
  if (!encoding || encoding === 'identity') return bytes
  try {
    return DECODERS[encoding]?.(bytes, { maxOutputLength: MAX_DECODED }) ?? null
  } catch {
    return null
  }
}
