import { mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withFileLock } from '../core/file-lock.ts';
import { checkVersion, NewerFile, versionKey } from '../core/file-version.ts';
import { ifMissing } from '../core/if-missing.ts';
import { isObject } from '../core/json.ts';
import { isAlive } from '../core/processes.ts';
import { Mutex } from '../core/synchronization.ts';

export interface AtomicFileOptions<Content> {
  readonly path: string;
  /** The content while there is no file. */
  readonly empty: Content;
  /** Largest size to read or write. */
  readonly maxBytes: number;
  /** Throws `NewerFile`, or any other error if the file is damaged. */
  readonly decode: (bytes: Buffer) => Content | Promise<Content>;
  readonly encode: (content: Content) => readonly Uint8Array[];
  readonly warn: (sentence: string) => void;
  /** Milliseconds since 1970 will do. */
  readonly now: () => Date | number;
  /** Its folder is made before the first change, with these rights. */
  readonly folderMode?: number;
  /** People edit the file: reads and changes reject while it is damaged, and an empty one has no content. */
  readonly leaveDamaged?: boolean;
}

/** The new content is larger than the limit; nothing was changed. */
export class FileFull extends Error {
  constructor(readonly maxBytes: number) {
    super(`no more than ${Math.floor(maxBytes / 2 ** 20)} MB are kept`);
  }
}

class Damaged extends Error {}

/**
 * Content in one file of bounded size. Changes run one after the other, also those of other processes, and each replaces the whole file,
 * so that a crash leaves the old file. A damaged file is renamed and never overwritten; if it was read before, its last content is written again. One of
 * a later version of Parley is left alone, and reads and changes reject. Before each use the file is read again if another program has changed it.
 */
export class AtomicFile<Content> {
  readonly #options: AtomicFileOptions<Content>;
  #content: Content;
  /** Fingerprint of the file that was read; undefined if there was none, null before the first read. */
  #seen: string | undefined | null = null;
  readonly #mutex = new Mutex();
  #cleaned = false;

  constructor(options: AtomicFileOptions<Content>) {
    this.#options = options;
    this.#content = options.empty;
  }

  read(): Promise<Content> {
    return this.#mutex.run(async () => {
      const path = await this.#target();
      await this.#removeLeftovers(path);
      try {
        return await this.#refreshed(path, 'report');
      } catch (error) {
        if (!(error instanceof Damaged)) throw error;
        return withFileLock(path, () => this.#refreshed(path, 'repair'));
      }
    });
  }

  /**
   * Resolves when the new content is on the disk. Nothing has changed when it rejects. Nothing is written if `next` returns its
   * argument.
   */
  change(next: (content: Content) => Content): Promise<Content> {
    const { path: named, folderMode } = this.#options;
    return this.#mutex.run(async () => {
      if (folderMode !== undefined) await mkdir(dirname(named), { recursive: true, mode: folderMode });
      const path = await this.#target();
      await this.#removeLeftovers(path);
      return withFileLock(path, () => this.#changed(path, next));
    });
  }

  async #changed(path: string, next: (content: Content) => Content): Promise<Content> {
    const { encode, maxBytes } = this.#options;
    const present = await this.#refreshed(path, 'repair');
    const content = next(present);
    if (content === present) return content;
    const chunks = encode(content);
    if (chunks.reduce((sum, { length }) => sum + length, 0) > maxBytes) throw new FileFull(maxBytes);
    await replaceFile(path, chunks);
    this.#content = content;
    this.#seen = await fingerprint(path);
    return content;
  }

  /** A damaged file is repaired only by the holder of the lock. */
  async #refreshed(path: string, damaged: 'repair' | 'report'): Promise<Content> {
    const present = await fingerprint(path);
    if (present === this.#seen) return this.#content;
    this.#content = present === undefined ? this.#options.empty : await this.#decoded(path, damaged);
    // Without the lock a later change may not be taken for the content that was read. A damaged file was renamed.
    this.#seen = damaged === 'report' ? present : await fingerprint(path);
    return this.#content;
  }

  async #decoded(path: string, damaged: 'repair' | 'report'): Promise<Content> {
    const { maxBytes, decode, empty, leaveDamaged } = this.#options;
    const facts = await stat(path);
    if (!facts.isFile()) throw new Error(`${path} is no file`);
    if (facts.size > maxBytes) throw new Error(`${path} is left alone: ${new FileFull(maxBytes).message}`);
    const bytes = await readFile(path);
    const wasRead = this.#seen !== null && this.#seen !== undefined;
    try {
      if (bytes.length === 0 && wasRead && !leaveDamaged) throw new Error('it is empty');
      return bytes.length === 0 ? empty : await decode(bytes);
    } catch (error) {
      if (error instanceof NewerFile) throw new Error(`${path} is left alone: ${error.message}`, { cause: error });
      if (leaveDamaged)
        throw new Error(`${path} is damaged and left alone: ${reasonOf(error)}. Mend it, or move it away`, {
          cause: error,
        });
      if (damaged === 'report') throw new Damaged();
      await this.#putAside(path, error, wasRead ? 'its last content is written again' : 'a new one is begun');
      if (!wasRead) return empty;
      await replaceFile(path, this.#options.encode(this.#content));
      return this.#content;
    }
  }

  async #putAside(path: string, error: unknown, next: string): Promise<void> {
    const { warn, now } = this.#options;
    const reason = reasonOf(error);
    const aside = await freeName(`${path}.damaged-${new Date(now()).toISOString().replace(/[:.]/g, '-')}`);
    await rename(path, aside);
    warn(`${path} is damaged (${reason}). It is kept as ${aside}, and ${next}.`);
  }

  /** Before the first use. The lock keeps parts that a process of another container is writing. */
  async #removeLeftovers(path: string): Promise<void> {
    if (this.#cleaned) return;
    this.#cleaned = true;
    if ((await leftovers(path)).length === 0) return;
    const removal = async () => {
      for (const part of await leftovers(path)) await rm(part, { force: true });
    };
    // They are harmless, and the folder may be read-only.
    await withFileLock(path, removal).catch(() => undefined);
  }

  /** The target of a link is read and replaced, not the link. */
  #target(): Promise<string> {
    return realpath(this.#options.path).catch(() => this.#options.path);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The form of a file that is a JSON object with the version of its format. `read` throws if the content is damaged. */
export function versionedJson<Content>(
  read: (content: Readonly<Record<string, unknown>>) => Content,
  write: (content: Content) => object | undefined,
  indent?: number,
) {
  return {
    decode: (bytes: Buffer): Content => {
      const content: unknown = JSON.parse(bytes.toString());
      if (!isObject(content)) throw new Error('it is no object');
      checkVersion(content);
      return read(content);
    },
    encode: (content: Content) => versionedBytes(write(content), indent),
  };
}

/** A JSON object with the version of its format, as the content of a file. */
export function versionedBytes(content: object | undefined, indent?: number): readonly Uint8Array[] {
  return [Buffer.from(`${JSON.stringify({ [versionKey]: 1, ...content }, undefined, indent)}\n`)];
}

/** The form of a file with one list, all of whose entries are valid. */
export function versionedList<Entry>(
  name: string,
  isValid: (value: unknown) => value is Entry,
  fault = `it has no list of ${name}`,
) {
  const read = ({ [name]: list }: Readonly<Record<string, unknown>>): readonly Entry[] => {
    if (!Array.isArray(list) || !list.every(isValid)) throw new Error(fault);
    return list;
  };
  const empty: readonly Entry[] = [];
  return { empty, ...versionedJson(read, (list) => ({ [name]: list })) };
}

/** What changes with the file; undefined if there is none. */
export async function fingerprint(path: string): Promise<string | undefined> {
  const facts = await stat(path, { bigint: true }).catch(ifMissing(undefined));
  return facts && `${facts.ino} ${facts.size} ${facts.mtimeNs}`;
}

async function freeName(name: string): Promise<string> {
  for (let count = 1; ; count++) {
    const next = count === 1 ? name : `${name}-${count}`;
    if ((await fingerprint(next)) === undefined) return next;
  }
}

/** Readable by the owner only. */
const defaultMode = 0o600;

/** Atomic, also after a power loss: the new file is synced before it is renamed. */
export async function replaceFile(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const mode = await stat(path).then(
    (facts) => facts.mode & 0o777,
    () => defaultMode,
  );
  const part = `${path}.${process.pid}.part`;
  try {
    await rm(part, { force: true });
    const handle = await open(part, 'wx', defaultMode);
    try {
      await writeFile(handle, chunks);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Parts of processes that were killed while writing. */
async function leftovers(path: string): Promise<readonly string[]> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  const isLeft = (name: string) => {
    const owner = Number(/\.(\d{1,10})\.part$/.exec(name)?.[1]);
    return name === `${basename(path)}.${owner}.part` && (owner === process.pid || !isAlive(owner));
  };
  return names.filter(isLeft).map((name) => join(folder, name));
}

/** Syncs the new name itself. Not every system can sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
  } catch {
    // The file is complete either way.
  }
}
