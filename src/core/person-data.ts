import type { Owner } from './owner.ts';

/** A file of an export. */
export interface PersonFile {
  /** With its folders. */
  readonly path: string;
  readonly bytes: number;
  readonly content: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** What one store of the server has of each person. */
export interface PersonStore {
  files(owner: Owner): AsyncIterable<PersonFile>;
  /** Leaves nothing of it, neither on the disk nor in memory. The person has no key, and no request runs. */
  remove(owner: Owner): Promise<void>;
}

/** A file with JSON. */
export function jsonFile(path: string, value: unknown): PersonFile {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  return { path, bytes: bytes.length, content: () => [bytes] };
}
