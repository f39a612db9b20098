import { matchesGlob } from './model-names.ts';

/** What a client has sent, for backends that get fields which their adapter does not know. */
export interface SentFields {
  readonly fields: Readonly<Record<string, unknown>>;
  /** These have an effect after all, so that the reply does not call them ignored. */
  passed(names: readonly string[]): void;
}

/** Whether a name fits one of the patterns, in which `*` stands for any text. */
export function fitsPattern(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, name));
}

/** A pattern of field names; undefined if it is none. */
export function fieldPattern(text: string): string | undefined {
  const pattern = text.trim();
  return /^[\w.*-]{1,100}$/.test(pattern) ? pattern : undefined;
}
