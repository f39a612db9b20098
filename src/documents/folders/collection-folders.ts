import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { WatchedFolder } from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import type { Clock, StartTimer } from '../../core/timers.ts';
import type { OpenCollection } from '../storage/collection.ts';
import type { FileRow } from '../storage/rows.ts';
import { FolderWatcher } from './folder-watcher.ts';
import { knownMounts, missingFiles } from './missing-files.ts';
import type { FolderFile, ScanReport } from './scan-folder.ts';

interface CollectionFoldersOptions extends Clock {
  readonly startTimer: StartTimer;
  readonly remove: (collection: OpenCollection, row: FileRow) => Promise<void>;
  readonly onWork: () => void;
  /** Of a collection, with those of its other folders and the uploaded ones. */
  readonly maxFiles: number;
}

/** The watched folders of all collections. */
export class CollectionFolders {
  readonly #watchers = new Map<string, FolderWatcher>();

  constructor(private readonly options: CollectionFoldersOptions) {}

  /** Those of a collection that was opened. */
  open(collection: OpenCollection): void {
    for (const folder of collection.database.folders()) void this.#start(collection, folder);
  }

  /** Or changes its rules. */
  async add(collection: OpenCollection, folder: WatchedFolder): Promise<void> {
    const path = await realFolder(folder.path);
    const own = { ...folder, path };
    collection.database.setFolder(own);
    await this.#stop(collection, path);
    void this.#start(collection, own);
  }

  async remove(collection: OpenCollection, requested: string): Promise<void> {
    const known = collection.database.folders().map(({ path }) => path);
    const path = known.find((one) => one === requested) ?? (await realpath(requested).catch(() => resolve(requested)));
    if (!known.includes(path)) throw new AppError('not-stored', { what: 'folder', id: requested });
    await this.#stop(collection, path);
    collection.database.removeFolder(path);
    for (const row of collection.database.filesOf(path)) await this.options.remove(collection, row);
  }

  async scan(): Promise<void> {
    await Promise.all([...this.#watchers.values()].map((watcher) => watcher.scan()));
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#watchers.values()].map((watcher) => watcher.idle()));
  }

  async close(collection?: OpenCollection): Promise<void> {
    const start = collection ? `${collection.id} ` : '';
    const own = [...this.#watchers].filter(([key]) => key.startsWith(start));
    for (const [key] of own) this.#watchers.delete(key);
    await Promise.all(own.map(([, watcher]) => watcher.stop()));
  }

  #start(collection: OpenCollection, folder: WatchedFolder): Promise<void> {
    let seen = new Set<string>();
    let leftOut = 0;
    const watcher = new FolderWatcher({
      folder,
      startTimer: this.options.startTimer,
      now: this.options.tick,
      onFiles: (files) => {
        for (const { path } of files) seen.add(path);
        const { stored, full } = this.#store(collection, folder, files);
        leftOut += full;
        if (stored > 0) this.options.onWork();
      },
      onScanned: async (result) => {
        await this.#scanned(collection, folder, { seen, leftOut }, result);
        seen = new Set();
        leftOut = 0;
      },
    });
    this.#watchers.set(key(collection, folder.path), watcher);
    return watcher.scan();
  }

  /** How many are new or were changed, and how many found no room. */
  #store({ id, database }: OpenCollection, { path: folder }: WatchedFolder, files: readonly FolderFile[]) {
    let room = this.options.maxFiles - database.fileCount;
    let full = 0;
    const changed = files.flatMap(({ path, bytes, modified }) => {
      const row = database.fileByPath(folder, path);
      if (row && row.bytes === bytes && row.modified === modified) return [];
      if (!row && room <= 0) {
        full += 1;
        return [];
      }
      if (!row) room -= 1;
      return {
        id: `file-${createHash('sha256').update(`${id}\n${folder}\n${path}`).digest('hex').slice(0, 24)}`,
        name: basename(path),
        source: join(folder, path),
        createdAt: row?.createdAt ?? Math.floor(this.options.now() / 1000),
        folder,
        path,
        bytes,
        modified,
      };
    });
    database.addFiles(changed);
    return { stored: changed.length, full };
  }

  /** Files that are gone are removed, unless the whole folder is: its drive may come back. */
  async #scanned(
    collection: OpenCollection,
    folder: WatchedFolder,
    { seen, leftOut }: { readonly seen: ReadonlySet<string>; readonly leftOut: number },
    result: ScanReport | Error,
  ): Promise<void> {
    const { database } = collection;
    const { path } = folder;
    if (result instanceof Error) {
      const { code, message } = result as NodeJS.ErrnoException;
      const isMissing = code === 'ENOENT' || code === 'ENOTDIR';
      database.noteFolder(path, isMissing ? 'The folder is not there.' : `${message}.`);
      return;
    }
    const { maxFiles } = this.options;
    const known = database.mounts(path);
    const { removed, unmounted } = missingFiles(folder, database.filesOf(path), seen, result, known);
    const full = leftOut > 0 ? [`${leftOut} files are left out: a collection has at most ${maxFiles}.`] : [];
    database.noteFolder(path, [...result.notes, ...full, ...unmounted.map(unmountedNote)].join(' '));
    if (result.mounts) database.setMounts(path, knownMounts(result.mounts, known, unmounted));
    for (const row of removed) await this.options.remove(collection, row);
  }

  async #stop(collection: OpenCollection, path: string): Promise<void> {
    const watcher = this.#watchers.get(key(collection, path));
    this.#watchers.delete(key(collection, path));
    await watcher?.stop();
  }
}

const key = ({ id }: OpenCollection, path: string): string => `${id} ${path}`;

/** Of the folder itself, or of one in it. */
function unmountedNote(path: string): string {
  const where = path === '' ? 'The folder is empty' : `${path} has no files`;
  return `${where}, and is not the folder that was indexed: its drive may not be mounted. What was indexed stays until the folder has files again or is not watched any more.`;
}

async function realFolder(path: string): Promise<string> {
  const expected = 'the path of a folder on the machine of the server';
  try {
    const real = await realpath(resolve(path));
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    throw new AppError('invalid-field', { field: 'path', expected }, { cause: error });
  }
  throw new AppError('invalid-field', { field: 'path', expected });
}
