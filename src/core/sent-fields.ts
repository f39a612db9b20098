/** What a client has sent, for backends that get fields which their adapter does not know. */
export interface SentFields {
  readonly fields: Readonly<Record<string, unknown>>;
  /** These have an effect after all, so that the reply does not call them ignored. */
  passed(names: readonly string[]): void;
}

/** Whether a name fits one of the patterns, in which `*` stands for any text. */
export function fitsPattern(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const [start = '', ...rest] = pattern.split('*');
    if (rest.length === 0) return name === pattern;
    const end = rest.pop() ?? '';
    if (!name.startsWith(start) || !name.endsWith(end) || name.length < start.length + end.length) return false;
    let left = name.slice(start.length, name.length - end.length);
    return rest.every((part) => {
      const at = left.indexOf(part);
      left = left.slice(at + part.length);
      return at !== -1;
    });
  });
}

/** A pattern of field names; undefined if it is none. */
export function fieldPattern(text: string): string | undefined {
  const pattern = text.trim();
  return /^[\w.*-]{1,100}$/.test(pattern) ? pattern : undefined;
}
