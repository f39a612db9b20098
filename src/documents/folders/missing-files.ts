import type { WatchedFolder } from '../../core/documents.ts';
import type { FileRow } from '../storage/rows.ts';
import { foldersOf, type Mounts, type ScanReport, takesPath } from './scan-folder.ts';

interface MissingFiles {
  /** They are gone. */
  readonly removed: readonly FileRow[];
  /** Folders whose drive is not there: their files stay. */
  readonly unmounted: readonly string[];
}

/**
 * What to do about the indexed files that a scan has not seen. They are gone, unless their folder could not be read, or was the beginning of a file system
 * (`known`), is another folder now and has none of its files: then its drive is not mounted, and may come back. A folder that is the same one and empty was
 * emptied. Files that the rules leave out are removed in any case.
 */
export function missingFiles(
  folder: WatchedFolder,
  rows: readonly FileRow[],
  seen: ReadonlySet<string>,
  { unread, mounts }: ScanReport,
  known: Mounts,
): MissingFiles {
  // Of a folder that was indexed by an earlier version, it is not known which one it was.
  const changed = mounts ? ['', ...Object.keys(known)].filter((path) => known[path] !== mounts[path]) : [];
  const without = new Set(changed);
  for (const path of without.size > 0 ? seen : []) for (const above of foldersOf(path)) without.delete(above);
  const removed: FileRow[] = [];
  const unmounted = new Set<string>();
  for (const row of rows) {
    const { path = '' } = row;
    if (seen.has(path)) continue;
    const above = takesPath(folder, path) ? foldersOf(path) : [];
    const mount = above.find((one) => without.has(one));
    if (mount !== undefined) unmounted.add(mount);
    else if (!above.some((one) => unread.has(one))) removed.push(row);
  }
  return { removed, unmounted: [...unmounted] };
}

/** What is known after a scan: of a drive that is not there still which one it was. */
export function knownMounts(mounts: Mounts, known: Mounts, unmounted: readonly string[]): Mounts {
  const next: Record<string, string> = { ...mounts };
  for (const path of unmounted) {
    const own = known[path];
    if (own === undefined) delete next[path];
    else next[path] = own;
  }
  return next;
}
