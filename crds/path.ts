/** Where a value is, from the root of its document. */
export type Path = (string | number)[]

/** A path as people write it: `spec.backends[0].name`. */
export function formatPath(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${text}[${JSON.stringify(key)}]`
    return text ? `${text}.${key}` : key
  }, '')
}

/** The reverse of `formatPath`, for paths without quoted keys. */
export function parsePath(text: string): Path {
  return [...text.matchAll(/\[([0-9]+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? key! : Number(index),
  )
}
