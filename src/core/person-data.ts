import { createHash } from 'node:crypto';
import { noKey, type Owner } from './owner.ts';

/**
 * The hash tells names apart that differ only in their case, where the file system does not, and no name is reserved with it. Requests of
 * administrators and key files that are written by hand can have any name: none leads out of the folder.
 */
export function fileNameOf(library: Owner): string {
  if (library === noKey) return 'common';
  const name = library.replace(/^key /, '');
  const plain = name.toLowerCase().replace(/[/\\:\p{Cc}]/gu, '_');
  const beginning = Buffer.byteLength(plain) > maxBytes ? [...plain].slice(0, maxBytes / 4).join('') : plain;
  return `${beginning}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** File systems take 255 bytes, with the endings that are put behind it. A name of 64 characters can have 256. */
const maxBytes = 200;

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
