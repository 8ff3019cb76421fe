/** A header as it was written: name in its own case, value without the white space around it. */
export type Header = readonly [name: string, value: string]

export interface Head {
  /** The first line, without its ending. */
  startLine: string
  /** In order, repeated names included. */
  headers: Header[]
}

const END = Buffer.from('\r\n\r\n')

/** Offset after the blank line that ends a head; -1 while it is incomplete. */
export function headEnd(bytes: Buffer): number {
  const at = bytes.indexOf(END)
  return at < 0 ? -1 : at + END.length
}

/** Reads a complete head. Throws on a line that is no header: a fake must not forgive what a server would refuse. */
export function parseHead(raw: Buffer): Head {
  const [startLine, ...lines] = raw
    .subarray(0, raw.length - END.length)
    .toString('latin1')
    .split('\r\n')
  const headers = lines.map((line): Header => {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line)
    if (!match) throw new Error(`not a header line: ${JSON.stringify(line)}`)
    return [match[1]!, match[2]!]
  })
  return { startLine: startLine!, headers }
}

/** Every value of a header, whatever the case of its name. */
export function headerValues(headers: readonly Header[], name: string): string[] {
  return headers.filter(([each]) => each.toLowerCase() === name.toLowerCase()).map(([, value]) => value)
}

/** The one value of a header; undefined where absent. Throws where it stands more than once. */
export function headerValue(headers: readonly Header[], name: string): string | undefined {
  const values = headerValues(headers, name)
  if (values.length > 1) throw new Error(`header ${name} stands ${values.length} times: ${JSON.stringify(values)}`)
  return values[0]
}

/** Whether the body of a message with these headers is chunked. */
export function isChunked(headers: readonly Header[]): boolean {
  return headerValues(headers, 'transfer-encoding').some(value => /(^|,)\s*chunked\s*$/i.test(value))
}

/** The declared length; undefined where absent. Throws on one that is no number, or on several. */
export function contentLength(headers: readonly Header[]): number | undefined {
  const value = headerValue(headers, 'content-length')
  if (value === undefined) return undefined
  if (!/^\d+$/.test(value)) throw new Error(`content-length is no number: ${value}`)
  return Number(value)
}
