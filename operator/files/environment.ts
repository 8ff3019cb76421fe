const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g

/**
 * Replaces `${NAME}` by the environment variable NAME; `$${` stands for a literal `${`, a `$` alone for itself. Throws
 * an Error that names a variable which is not set: an empty credential would only fail later, at the provider.
 */
export function expandVariables(text: string, environment: Record<string, string | undefined>): string {
  return text.replace(REFERENCE, (reference, name: string | undefined) => {
    if (name === undefined) return '${'
    if (!reference.endsWith('}') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      // The text itself may be a secret and is not repeated.
      throw new Error(`a "$\{" is not followed by the name of a variable and "}"; write $$\{ for a literal $\{`)
    }
    const value = environment[name]
    if (value === undefined) throw new Error(`the environment variable ${name} is not set`)
    if (value === '') throw new Error(`the environment variable ${name} is empty`)
    return value
  })
}
