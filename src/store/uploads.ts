import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { checkVersion } from '../core/file-version.ts';
import { OrderedIds, orderedIdPattern } from '../core/ids.ts';
import { ifMissing } from '../core/if-missing.ts';
import { isObject } from '../core/json.ts';
import type { FileLibrary, FilePurpose, NewUpload, Upload, UploadLibrary } from '../core/stored-files.ts';
import { Mutex } from '../core/synchronization.ts';
import type { Clock } from '../core/timers.ts';
import { replaceFile, versionedBytes } from './atomic-file.ts';
import { filePurposes, moveFile } from './stored-files.ts';

interface UploadsOptions extends Pick<Clock, 'now'> {
  readonly folder: string;
  /** Where complete uploads go. */
  readonly files: FileLibrary & { refuseBeyond(bytes: number): Promise<void> };
  readonly fileBytes: number;
}

/** The stored facts of an upload; its parts are files in the same folder. */
interface Head extends NewUpload {
  readonly id: string;
  readonly status: Exclude<Upload['status'], 'expired'>;
  readonly createdAt: number;
  /** The id of the file that it became. */
  readonly file?: string;
}

const uploadIds = new RegExp(`^upload_${orderedIdPattern}$`);
const partIds = new RegExp(`^part_${orderedIdPattern}$`);
const lifetimeSeconds = 60 * 60;
/** How long after its end an upload can still be requested. */
const memorySeconds = 24 * 60 * 60;
const maxUploads = 100;
const maxParts = 10_000;

/** Uploads in parts, a folder for each. All parts together may be twice as large as the file, because clients send some again. */
export class Uploads implements UploadLibrary {
  readonly #options: UploadsOptions;
  readonly #ids: OrderedIds;
  readonly #mutex = new Mutex();

  constructor(options: UploadsOptions) {
    this.#options = options;
    this.#ids = new OrderedIds(options.now);
  }

  create(upload: NewUpload): Promise<Upload> {
    return this.#mutex.run(async () => {
      const { fileBytes, files } = this.#options;
      const limitMegabytes = Math.floor(fileBytes / 2 ** 20);
      if (upload.bytes > fileBytes) throw new AppError('file-too-large', { limitMegabytes });
      await files.refuseBeyond(upload.bytes);
      await this.clean();
      const pending = await this.#heads();
      if (pending.filter(({ status }) => status === 'pending').length >= maxUploads)
        throw new AppError('invalid-field', {
          field: 'bytes',
          expected: `sent later: ${maxUploads} uploads are pending`,
        });
      const head: Head = { ...upload, id: this.#ids.next('upload_'), status: 'pending', createdAt: this.#seconds() };
      await mkdir(this.#folderOf(head.id), { recursive: true, mode: 0o700 });
      await this.#write(head);
      return this.#uploadOf(head);
    });
  }

  addPart(id: string, path: string): Promise<{ readonly id: string; readonly createdAt: number }> {
    return this.#mutex.run(async () => {
      const head = await this.#pending(id);
      const { size } = await stat(path);
      const parts = await this.#parts(id);
      const sum = [...parts.values()].reduce((total, bytes) => total + bytes, size);
      if (sum > 2 * head.bytes) throw wrong('data', `at most ${2 * head.bytes} bytes in all parts together`);
      if (parts.size >= maxParts) throw wrong('data', `one of at most ${maxParts} parts`);
      await this.#options.files.refuseBeyond(size);
      const part = this.#ids.next('part_');
      await moveFile(path, this.#partPath(id, part));
      return { id: part, createdAt: this.#seconds() };
    });
  }

  complete(id: string, parts: readonly string[], md5: string | undefined, signal: AbortSignal): Promise<Upload> {
    return this.#mutex.run(async () => {
      const head = await this.#pending(id);
      const sizes = await this.#parts(id);
      const unknown = parts.findIndex((part) => !sizes.has(part));
      if (unknown !== -1) throw wrong(`part_ids[${unknown}]`, 'the id of a part of this upload');
      if (new Set(parts).size !== parts.length) throw wrong('part_ids', 'a list in which every part is named once');
      const bytes = parts.reduce((sum, part) => sum + (sizes.get(part) ?? 0), 0);
      if (bytes !== head.bytes) throw wrong('part_ids', `parts of ${head.bytes} bytes together; these have ${bytes}`);
      const { files } = this.#options;
      const paths = parts.map((part) => this.#partPath(id, part));
      if (md5 !== undefined && (await md5Of(paths, signal)) !== md5.toLowerCase())
        throw wrong('md5', 'the checksum of the whole file');
      const { name, purpose, mime, fileSeconds: expiresAfter } = head;
      const file = await files.add({ name, purpose, mime, expiresAfter }, contentOf(paths), signal);
      return this.#end({ ...head, status: 'completed', file: file.id });
    });
  }

  cancel(id: string): Promise<Upload> {
    return this.#mutex.run(async () => this.#end({ ...(await this.#pending(id)), status: 'cancelled' }));
  }

  async #end(head: Head): Promise<Upload> {
    await this.#write(head);
    await this.#removeParts(head.id);
    return this.#uploadOf(head);
  }

  /** Of all parts. */
  async bytes(): Promise<number> {
    let sum = 0;
    for (const { id } of await this.#heads()) for (const size of (await this.#parts(id)).values()) sum += size;
    return sum;
  }

  /** Deletes the parts of uploads that have expired, and forgets them after a day. */
  async clean(): Promise<void> {
    for (const name of await readdir(this.#options.folder).catch(ifMissing([]))) {
      if (!uploadIds.test(name)) continue;
      const age = this.#seconds() - createdAt(name);
      if (age > lifetimeSeconds + memorySeconds) await rm(this.#folderOf(name), { recursive: true, force: true });
      else if (age > lifetimeSeconds) await this.#removeParts(name);
    }
  }

  async #heads(): Promise<readonly Head[]> {
    const names = (await readdir(this.#options.folder).catch(ifMissing([]))).filter((name) => uploadIds.test(name));
    const heads = await Promise.all(names.map((name) => this.#read(name)));
    return heads.filter((head) => head !== undefined);
  }

  async #pending(id: string): Promise<Head> {
    const head = uploadIds.test(id) ? await this.#read(id) : undefined;
    if (!head) throw new AppError('not-stored', { what: 'upload', id });
    const { status } = await this.#uploadOf(head);
    if (status !== 'pending') throw wrong('upload_id', `that of a pending upload; this one is ${status}`);
    return head;
  }

  async #read(id: string): Promise<Head | undefined> {
    const json = await readFile(this.#headPath(id), 'utf8').catch(ifMissing(undefined));
    return json === undefined ? undefined : headIn(id, JSON.parse(json));
  }

  async #write({ id, createdAt: at, fileSeconds, ...head }: Head): Promise<void> {
    const content = versionedBytes({ ...head, created_at: at, file_seconds: fileSeconds });
    await replaceFile(this.#headPath(id), content);
  }

  async #uploadOf({ file: fileId, fileSeconds: _, ...head }: Head): Promise<Upload> {
    const expiresAt = head.createdAt + lifetimeSeconds;
    const isExpired = head.status === 'pending' && this.#seconds() >= expiresAt;
    const file = fileId === undefined ? undefined : await this.#options.files.get(fileId);
    return { ...head, status: isExpired ? 'expired' : head.status, expiresAt, ...(file && { file }) };
  }

  /** Sizes by id. */
  async #parts(id: string): Promise<ReadonlyMap<string, number>> {
    const names = (await readdir(this.#folderOf(id)).catch(ifMissing([]))).filter((name) => partIds.test(name));
    const sizes = names.map(async (name) => [name, (await stat(this.#partPath(id, name))).size] as const);
    return new Map(await Promise.all(sizes));
  }

  async #removeParts(id: string): Promise<void> {
    for (const name of await readdir(this.#folderOf(id)).catch(ifMissing([])))
      if (partIds.test(name)) await rm(this.#partPath(id, name), { force: true });
  }

  #seconds(): number {
    return Math.floor(this.#options.now() / 1000);
  }

  #folderOf(id: string): string {
    return join(this.#options.folder, id);
  }

  #headPath(id: string): string {
    return join(this.#folderOf(id), 'upload.json');
  }

  #partPath(id: string, part: string): string {
    return join(this.#folderOf(id), part);
  }
}

/** In seconds since 1970. */
function createdAt(id: string): number {
  return Math.floor(Number.parseInt(id.slice('upload_'.length, 'upload_'.length + 12), 16) / 1000);
}

function headIn(id: string, content: unknown): Head {
  if (!isObject(content)) throw new Error(`the upload ${id} is damaged`);
  checkVersion(content);
  const { name, mime, purpose, bytes, status, created_at: at, file_seconds: fileSeconds, file } = content;
  return {
    id,
    name: String(name),
    mime: String(mime),
    purpose: filePurposes.find((one) => one === purpose) ?? ('user_data' satisfies FilePurpose),
    bytes: Number(bytes),
    status: status === 'completed' || status === 'cancelled' ? status : 'pending',
    createdAt: Number(at),
    ...(typeof fileSeconds === 'number' && { fileSeconds }),
    ...(typeof file === 'string' && { file }),
  };
}

async function* contentOf(paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) yield* createReadStream(path, { highWaterMark: 256 * 1024 });
}

async function md5Of(paths: readonly string[], signal: AbortSignal): Promise<string> {
  const hash = createHash('md5');
  for await (const chunk of contentOf(paths)) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}

const wrong = (field: string, expected: string): AppError => new AppError('invalid-field', { field, expected });
