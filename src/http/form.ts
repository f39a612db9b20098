import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { StartTimer } from './timers.ts';

/** A body of several parts (`multipart/form-data`): short texts as they are, files as files of ours. */
export interface Form {
  /** In the order in which they came; a name may come several times. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly UploadedFile[];
}

export interface UploadedFile {
  readonly field: string;
  /** As the client calls it, without folders; never a name of a file of ours. */
  readonly name: string;
  readonly contentType: string;
  /** Gone when the request is answered. */
  readonly path: string;
  readonly bytes: number;
}

export interface FormLimits {
  readonly files: number;
  readonly fields: number;
  readonly fieldBytes: number;
}

const usualLimits: FormLimits = { files: 16, fields: 256, fieldBytes: 4 * 2 ** 20 };

export type ReadForm =
  | { readonly type: 'form'; readonly form: Form; readonly remove: () => Promise<void> }
  | { readonly type: 'too-large' }
  | { readonly type: 'stalled' }
  | { readonly type: 'gone' }
  | { readonly type: 'disk-full' }
  | { readonly type: 'broken'; readonly reason: string };

export interface FormReading {
  /** What all parts together may take. */
  readonly bytes: number;
  readonly stallMilliseconds: number;
  readonly startTimer: StartTimer;
  /** Where they differ from the usual ones. */
  readonly limits: Partial<FormLimits>;
  /** Where files are put; a fresh folder of the system's own place for such things unless given. */
  readonly folder?: () => Promise<string>;
  /** Opens a fresh file, readable for this account only. */
  readonly openFile?: ((path: string) => Writable) | undefined;
  readonly begin?: () => void;
}

export function isForm(request: Pick<IncomingMessage, 'headers'>): boolean {
  return /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '');
}

/**
 * Reads a form to its end. However it ends, no file is left of one that was not read whole; and of one that was, none once
 * `remove` was called, which is safe to do again.
 */
export async function readForm(request: IncomingMessage, reading: FormReading): Promise<ReadForm> {
  if (Number(request.headers['content-length'] ?? 0) > reading.bytes) return { type: 'too-large' };
  if (request.destroyed) return { type: 'gone' };
  let folder: string;
  try {
    folder = await (reading.folder ?? uploadFolder)();
  } catch (error) {
    if (isDiskFull(error)) return { type: 'disk-full' };
    throw error;
  }
  const remove = () => removeUploads(folder);
  const read = await readParts(request, reading, folder).catch(
    (error: Error): ReadForm => ({ type: 'broken', reason: error.message }),
  );
  if (read.type !== 'form') await remove();
  return read.type === 'form' ? { ...read, remove } : read;
}

type Parts = Exclude<ReadForm, { type: 'form' }> | { readonly type: 'form'; readonly form: Form };

async function readParts(request: IncomingMessage, reading: FormReading, folder: string): Promise<ReadForm> {
  const { bytes, stallMilliseconds, startTimer, begin, openFile = openUpload } = reading;
  const limits = { ...usualLimits, ...reading.limits };
  // Loaded by the first who needs it: most servers never do.
  const { default: busboy } = await import('busboy');
  // Its client may have gone while that was loaded: no event will tell of it any more.
  if (request.destroyed && !request.complete) return { type: 'gone' };
  const parser = busboy({
    headers: request.headers,
    defParamCharset: 'utf8',
    limits: { files: limits.files, fields: limits.fields, fieldSize: limits.fieldBytes, fieldNameSize: 1000 },
  });
  const fields = new Map<string, string[]>();
  const files: UploadedFile[] = [];
  const written: Promise<unknown>[] = [];
  let length = 0;
  let number = 0;

  return new Promise<Parts>((resolve) => {
    const settle = (result: Parts): void => {
      stall.cancel();
      request.off('data', take).off('end', ended).off('close', gone);
      request.unpipe(parser);
      if (result.type !== 'form') parser.destroy();
      resolve(result);
    };
    const broken = (reason: string): void => settle({ type: 'broken', reason });
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      stall.restart();
      if (length > bytes) settle({ type: 'too-large' });
    };
    const ended = (): void => stall.cancel();
    const gone = (): void => {
      if (!request.complete) settle({ type: 'gone' });
    };

    parser.on('field', (name, value, { nameTruncated, valueTruncated }) => {
      if (nameTruncated) broken('the name of a field is too long');
      else if (valueTruncated) broken(`the field ${name} is longer than ${limits.fieldBytes} bytes`);
      else fields.set(name, [...(fields.get(name) ?? []), value]);
    });
    parser.on('file', (field, stream, { filename, mimeType }) => {
      const path = join(folder, String(number++));
      const target = openFile(path);
      let size = 0;
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length;
      });
      // A parser that is destroyed in mid-file ends this way; who asked is told by whatever destroyed it.
      stream.on('error', (error) => target.destroy(error));
      const done = finished(stream.pipe(target)).then(() => {
        files.push({ field, name: plainName(filename), contentType: mimeType, path, bytes: size });
      });
      done.catch((error: Error) => (isDiskFull(error) ? settle({ type: 'disk-full' }) : broken(error.message)));
      written.push(done);
    });
    parser.on('filesLimit', () => broken(`there are more than ${limits.files} files`));
    parser.on('fieldsLimit', () => broken(`there are more than ${limits.fields} fields`));
    parser.on('error', (error) => broken((error as Error).message));
    parser.on('close', () => {
      void Promise.all(written).then(
        () => settle({ type: 'form', form: { fields, files } }),
        () => undefined,
      );
    });

    const stall = startTimer(stallMilliseconds, () => settle({ type: 'stalled' }));
    begin?.();
    request.on('data', take).on('end', ended).on('close', gone);
    request.pipe(parser);
  }) as Promise<ReadForm>;
}

function openUpload(path: string): Writable {
  return createWriteStream(path, { mode: 0o600, flags: 'wx' });
}

/** No space is left on the disk, or none that this account may use. */
function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** The last part of a path in the manner of any system. */
function plainName(name: string | undefined): string {
  return (name ?? '').split(/[/\\]/).at(-1) ?? '';
}

const beginning = 'parley-upload-';

/** A fresh folder for the files of one request, readable for this account only. Its name tells whose it is. */
export function uploadFolder(parent = tmpdir(), pid = process.pid): Promise<string> {
  return mkdtemp(join(parent, `${beginning}${pid}-`));
}

async function removeUploads(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** What servers left behind that were ended in the hard way. Folders of those that still run are theirs. */
export async function removeLeftovers(parent = tmpdir(), alive: (pid: number) => boolean = isAlive): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const left = names.filter((name) => {
    const pid = Number(new RegExp(`^${beginning}(\\d+)-`).exec(name)?.[1]);
    return Number.isInteger(pid) && pid > 0 && !alive(pid);
  });
  await Promise.all(left.map((name) => removeUploads(join(parent, name)).catch(() => undefined)));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
