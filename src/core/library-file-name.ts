import { createHash } from 'node:crypto';
import { noKey, type Owner } from './owner.ts';

/**
 * The hash tells names apart that differ only in their case, where the file system does not, and no name is reserved with it. Requests of
 * administrators and key files that are written by hand can have any name: none leads out of the folder.
 */
export function fileNameOf(library: Owner): string {
  if (library === noKey) return 'common';
  const name = library.replace(/^key /, '');
  return `${name.toLowerCase().replace(/[/\\:\p{Cc}]/gu, '_')}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}
