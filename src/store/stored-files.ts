import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { checkVersion, NewerFile } from '../core/file-version.ts';
import { OrderedIds, orderedIdPattern } from '../core/ids.ts';
import { ifMissing } from '../core/if-missing.ts';
import { isObject } from '../core/json.ts';
import type { Owner } from '../core/owner.ts';
import { isAlive } from '../core/processes.ts';
import type { FileLibrary, FilePurpose, NewStoredFile, StoredFile } from '../core/stored-files.ts';
import { Mutex } from '../core/synchronization.ts';
import type { Clock } from '../core/timers.ts';
import { replaceFile, versionedBytes } from './atomic-file.ts';
import { extensionOf, mimeOf } from './mime-types.ts';

interface FileLimits {
  readonly fileBytes: number;
  /** Of all files of one owner together. */
  readonly allBytes: number;
}

export interface StoredFilesOptions extends Pick<Clock, 'now'> {
  readonly folder: string;
  /** Is written into the folder. */
  readonly owner: Owner;
  readonly limits: FileLimits;
  readonly warn: (sentence: string) => void;
  /** Other stored bytes of the owner, which count against the limit of all files. */
  readonly otherBytes?: () => Promise<number>;
  /** Called for each file that was deleted or has expired. */
  readonly onDeleted?: (id: string) => Promise<void>;
  readonly newIds?: OrderedIds;
}

export const filePurposes = [
  ...(['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const),
  'batch_output',
] as const satisfies readonly FilePurpose[];

const ids = new RegExp(`^file[-_](${orderedIdPattern})$`);
const headNames = new RegExp(`^(file-${orderedIdPattern})\\.json$`);
const contentNames = new RegExp(`^(file-${orderedIdPattern})\\.data$`);
const partNames = /\.(\d{1,10})\.part$/;
/** A file is complete within this time after its last byte; what is left of one after it belongs to a process that was killed. */
const leftoverMs = 60 * 60 * 1000;

/**
 * Files in one folder, for one owner: the content as `ID.data`, and what is known of it as `ID.json`, which is written last and deleted
 * first. So the folder is its own index, whatever is killed and however many servers use it. Neither part ever changes.
 */
export class StoredFiles implements FileLibrary {
  readonly #options: StoredFilesOptions;
  readonly #ids: OrderedIds;
  readonly #mutex = new Mutex();
  /** What is known of the files of the folder. */
  readonly #known = new Map<string, StoredFile>();
  /** Files that cannot be read, each of which is reported once. */
  readonly #unreadable = new Set<string>();

  constructor(options: StoredFilesOptions) {
    this.#options = options;
    this.#ids = options.newIds ?? new OrderedIds(options.now);
  }

  async list(): Promise<readonly StoredFile[]> {
    const names = await readdir(this.#options.folder).catch(ifMissing([]));
    const present = new Set(names.flatMap((name) => headNames.exec(name)?.[1] ?? []));
    for (const id of this.#known.keys()) if (!present.has(id)) this.#known.delete(id);
    const files: StoredFile[] = [];
    for (const id of present) {
      const file = await this.#unexpired(this.#known.get(id) ?? (await this.#read(id)));
      if (file) files.push(file);
    }
    return files.sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  async get(id: string): Promise<StoredFile | undefined> {
    const own = storedId(id);
    return own === undefined ? undefined : this.#current(own);
  }

  add(file: NewStoredFile, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredFile> {
    const maxBytes = isLimited(file) ? this.#options.limits.fileBytes : Number.POSITIVE_INFINITY;
    return this.#store(file, (part) => writeContent(part, content, maxBytes, signal));
  }

  async move(file: NewStoredFile, path: string): Promise<StoredFile> {
    const { fileBytes } = this.#options.limits;
    const { size } = await stat(path);
    if (size > fileBytes) throw tooLarge(fileBytes);
    return this.#store(file, async (part) => {
      await moveFile(path, part);
      return size;
    });
  }

  /** `write` writes the content to the path that it gets, and resolves to its size. */
  async #store(
    { id = this.newId(), ...file }: NewStoredFile,
    write: (part: string) => Promise<number>,
  ): Promise<StoredFile> {
    const { folder, owner } = this.#options;
    await makeOwnerFolder(folder, owner);
    const part = join(folder, `${id}.${process.pid}.part`);
    try {
      return await this.#commit(id, file, part, await write(part));
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  newId(): string {
    return this.#ids.next('file-');
  }

  async path(id: string): Promise<string> {
    const file = await this.get(id);
    if (!file) throw new AppError('not-stored', { what: 'file', id });
    return this.#contentPath(file.id);
  }

  async delete(id: string): Promise<boolean> {
    const own = storedId(id);
    // One of a later version of Parley stays.
    return own !== undefined && (await this.#current(own)) !== undefined && this.#remove(own);
  }

  /** Throws `storage-full` if these bytes exceed the limit. */
  async refuseBeyond(bytes: number): Promise<void> {
    const { limits, otherBytes } = this.#options;
    const used = (await this.list()).reduce((sum, file) => sum + file.bytes, (await otherBytes?.()) ?? 0);
    if (used + bytes > limits.allBytes)
      throw new AppError('storage-full', { limitMegabytes: megabytes(limits.allBytes) });
  }

  /** Deletes what has expired, and what killed processes have left. */
  async clean(): Promise<void> {
    await this.list();
    const { folder, now } = this.#options;
    for (const name of await readdir(folder).catch(ifMissing([]))) {
      const id = contentNames.exec(name)?.[1];
      const writer = Number(partNames.exec(name)?.[1] ?? 0);
      if (id === undefined && (writer === 0 || (writer !== process.pid && isAlive(writer)))) continue;
      const path = join(folder, name);
      const facts = await stat(path).catch(() => undefined);
      if (!facts || now() - facts.ctimeMs < leftoverMs) continue;
      // Its other part may have been written or deleted meanwhile.
      const isWhole = id !== undefined && (await stat(this.#headPath(id)).catch(() => undefined)) !== undefined;
      if (!isWhole) await rm(path, { force: true });
    }
  }

  /** One after the other, so that together they stay within the limit. */
  #commit(id: string, file: Omit<NewStoredFile, 'id'>, part: string, bytes: number): Promise<StoredFile> {
    return this.#mutex.run(async () => {
      if (isLimited(file)) await this.refuseBeyond(bytes);
      const { name, purpose, mime = mimeOf(name), expiresAfter } = file;
      const createdAt = Math.floor(this.#options.now() / 1000);
      const expiry = expiresAfter !== undefined && { expiresAt: createdAt + expiresAfter };
      const stored: StoredFile = { id, name, mime, purpose, bytes, createdAt, ...expiry };
      await rename(part, this.#contentPath(id));
      try {
        await replaceFile(this.#headPath(id), versionedBytes(headOf(stored)));
      } catch (error) {
        await rm(this.#contentPath(id), { force: true }).catch(() => undefined);
        throw error;
      }
      this.#known.set(id, stored);
      return stored;
    });
  }

  /** Undefined for one that is not there, has expired, or cannot be read. */
  async #current(id: string): Promise<StoredFile | undefined> {
    // Another server may have deleted it.
    const isThere = await stat(this.#headPath(id)).catch(() => undefined);
    if (!isThere) this.#known.delete(id);
    return isThere && this.#unexpired(this.#known.get(id) ?? (await this.#read(id)));
  }

  async #unexpired(file: StoredFile | undefined): Promise<StoredFile | undefined> {
    if (file?.expiresAt === undefined || file.expiresAt * 1000 > this.#options.now()) return file;
    await this.#remove(file.id);
    return undefined;
  }

  async #read(id: string): Promise<StoredFile | undefined> {
    const path = this.#headPath(id);
    try {
      const file = fileIn(id, JSON.parse(await readFile(path, 'utf8')));
      this.#known.set(id, file);
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      if (!this.#unreadable.has(id)) {
        const reason = error instanceof NewerFile ? error.message : `it is damaged (${(error as Error).message})`;
        this.#options.warn(`The stored file ${path} is left alone: ${reason}.`);
      }
      this.#unreadable.add(id);
      return undefined;
    }
  }

  async #remove(id: string): Promise<boolean> {
    const isThere = rm(this.#headPath(id)).then(() => true);
    const removed = await isThere.catch(ifMissing(false));
    this.#known.delete(id);
    await rm(this.#contentPath(id), { force: true });
    if (removed) await this.#options.onDeleted?.(id);
    return removed;
  }

  #headPath(id: string): string {
    return join(this.#options.folder, `${id}.json`);
  }

  #contentPath(id: string): string {
    return join(this.#options.folder, `${id}.data`);
  }
}

/** Results that were computed are stored whatever their size. */
const isLimited = ({ purpose }: Pick<NewStoredFile, 'purpose'>): boolean => purpose !== 'batch_output';

const ownerPath = (folder: string): string => join(folder, 'owner.json');

/** Several files may be the first of an owner at the same time. */
const newFolders = new Mutex();

/** A folder of one owner, for this account only. */
export async function makeOwnerFolder(folder: string, owner: Owner): Promise<void> {
  if ((await ownerIn(folder)) !== undefined) return;
  await newFolders.run(async () => {
    if ((await ownerIn(folder)) !== undefined) return;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(ownerPath(folder), versionedBytes({ owner }));
  });
}

/** Whose files are in a folder; undefined if there are none. */
export async function ownerIn(folder: string): Promise<Owner | undefined> {
  try {
    const content: unknown = JSON.parse(await readFile(ownerPath(folder), 'utf8'));
    return isObject(content) && typeof content.owner === 'string' ? content.owner : undefined;
  } catch {
    return undefined;
  }
}

/** The id under which a file is stored; undefined if no file can have this one. */
function storedId(id: string): string | undefined {
  const own = ids.exec(id)?.[1];
  return own === undefined ? undefined : `file-${own}`;
}

function headOf({ id: _, createdAt, expiresAt, ...file }: StoredFile): object {
  return { ...file, created_at: createdAt, expires_at: expiresAt };
}

function fileIn(id: string, head: unknown): StoredFile {
  if (!isObject(head)) throw new Error('it is no object');
  checkVersion(head);
  const { name, mime, purpose, bytes, created_at: createdAt, expires_at: expiresAt } = head;
  const known = filePurposes.find((one) => one === purpose);
  const isWhole = typeof name === 'string' && typeof mime === 'string' && known !== undefined;
  if (!isWhole || typeof bytes !== 'number' || typeof createdAt !== 'number') throw new Error('it is incomplete');
  return { id, name, mime, purpose: known, bytes, createdAt, ...(typeof expiresAt === 'number' && { expiresAt }) };
}

/** Copied where the other folder is on another disk. The file is on the disk when this resolves. */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await copyFile(from, to, constants.COPYFILE_EXCL);
    await rm(from, { force: true });
  }
  await chmod(to, 0o600);
  const handle = await open(to, 'r+');
  await handle.sync().finally(() => handle.close());
}

const megabytes = (bytes: number): number => Math.floor(bytes / 2 ** 20);

const tooLarge = (maxBytes: number): AppError =>
  new AppError('file-too-large', { limitMegabytes: megabytes(maxBytes) });

/** Resolves to the size of the content, which is on the disk then. */
async function writeContent(
  path: string,
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<number> {
  // A killed process may have had the same number.
  await rm(path, { force: true });
  const handle = await open(path, 'wx', 0o600);
  let bytes = 0;
  try {
    for await (const chunk of content) {
      signal.throwIfAborted();
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      for (let written = 0; written < chunk.length; ) written += (await handle.write(chunk, written)).bytesWritten;
    }
    signal.throwIfAborted();
    await handle.sync();
  } finally {
    await handle.close();
  }
  return bytes;
}

const maxNameLength = 255;

/**
 * The name of a file without folders, control characters and halves of characters, which could end a line of a header or of a console; undefined for one
 * that is too long. Never used as a path.
 */
export function plainFileName(name: string, mime = 'application/octet-stream'): string | undefined {
  const last = (name.split(/[/\\]/).at(-1) ?? '').replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, '').trim();
  if (last.length > maxNameLength) return undefined;
  return last === '' || last === '.' || last === '..' ? `unnamed${extensionOf(mime)}` : last;
}
