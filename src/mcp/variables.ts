export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Puts variables of the server's own environment in their places, so that a file need not hold secrets: `${NAME}`,
 * `${env:NAME}`, and `${NAME:-text}` for one that may be missing. Throws the name of what is missing otherwise.
 */
export function withVariables(text: string, environment: Environment): string {
  return text.replace(/\$\{([^}]*)\}/g, (whole, inside: string) => {
    const [, name = '', otherwise] = /^(?:env:)?([A-Za-z_]\w*)(?::-([\s\S]*))?$/.exec(inside) ?? [];
    const value = environment[name] || otherwise;
    if (value === undefined) throw new MissingVariable(whole);
    return value;
  });
}

export class MissingVariable extends Error {
  override readonly name = 'MissingVariable';
}
