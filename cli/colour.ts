/** Wraps text in a colour, or leaves it as it is. */
export type Paint = (text: string) => string

export interface Colours {
  bold: Paint
  dim: Paint
  red: Paint
  yellow: Paint
  green: Paint
}

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], yellow: [33, 39], green: [32, 39] } as const

/** Colours for a stream: only on a terminal that knows them, and never with NO_COLOR (https://no-color.org). */
export function coloursFor(
  stream: { isTTY?: boolean },
  environment: Record<string, string | undefined> = process.env,
): Colours {
  const on = stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb'
  const paint = ([start, end]: readonly [number, number]): Paint =>
    on ? text => `\x1b[${start}m${text}\x1b[${end}m` : text => text
  return {
    bold: paint(CODES.bold),
    dim: paint(CODES.dim),
    red: paint(CODES.red),
    yellow: paint(CODES.yellow),
    green: paint(CODES.green),
  }
}
