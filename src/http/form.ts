import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { isDiskFull } from '../core/errors.ts';
import { isAlive } from '../core/processes.ts';
import type { BodyLimits, ReadBody } from './body.ts';

/** A `multipart/form-data` body: fields in memory, files on disk. */
export interface Form {
  /** In order of arrival; a name may occur several times. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly UploadedFile[];
}

export interface UploadedFile {
  readonly field: string;
  /** As sent by the client, without folders. Never used as a path. */
  readonly name: string;
  readonly contentType: string;
  /** Deleted when the request is answered. */
  readonly path: string;
  readonly bytes: number;
}

export interface FormLimits {
  readonly files: number;
  readonly fields: number;
  readonly fieldBytes: number;
}

/** What an endpoint may change of the reading of its forms. */
export interface FormOptions extends Partial<FormLimits> {
  /** Instead of the limit of all bodies. */
  readonly bytes?: number;
  /** Creates the folder for the files: on the disk where they are kept, they need not be copied. */
  readonly folder?: () => Promise<string>;
}

const defaultLimits: FormLimits = { files: 16, fields: 256, fieldBytes: 4 * 2 ** 20 };

type ReadForm =
  | Exclude<ReadBody, { type: 'whole' }>
  | { readonly type: 'form'; readonly form: Form; readonly remove: () => Promise<void> }
  | { readonly type: 'disk-full' }
  | { readonly type: 'broken'; readonly reason: string };

export interface FormReading extends Omit<BodyLimits, 'take'> {
  readonly limits: Partial<FormLimits>;
  /** Creates the folder for the files; by default in the temporary folder of the system. */
  readonly folder?: (() => Promise<string>) | undefined;
  /** Creates a file; by default readable for this account only. */
  readonly openFile?: ((path: string) => Writable) | undefined;
}

export function isForm(request: Pick<IncomingMessage, 'headers'>): boolean {
  return /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '');
}

/** Reads a whole form. Files of an incomplete form are deleted, those of a complete one by `remove`, which is idempotent. */
export async function readForm(request: IncomingMessage, reading: FormReading): Promise<ReadForm> {
  if (Number(request.headers['content-length'] ?? 0) > reading.bytes) return { type: 'too-large' };
  if (request.destroyed) return { type: 'disconnected' };
  let folder: string;
  try {
    folder = await (reading.folder ?? uploadFolder)();
  } catch (error) {
    if (isDiskFull(error)) return { type: 'disk-full' };
    throw error;
  }
  const read = await readParts(request, reading, folder).catch(
    (error: Error): ReadForm => ({ type: 'broken', reason: error.message }),
  );
  if (read.type !== 'form') await removeUploads(folder);
  return read;
}

async function readParts(request: IncomingMessage, reading: FormReading, folder: string): Promise<ReadForm> {
  const { bytes, stallMilliseconds, startTimer, begin, openFile = openUpload } = reading;
  const limits = { ...defaultLimits, ...reading.limits };
  // Imported on first use: most servers never need it.
  const { default: busboy } = await import('busboy');
  // The client may have disconnected during the import. What was not read is lost then, and no event follows.
  if (request.destroyed) return { type: 'disconnected' };
  const parser = busboy({
    headers: request.headers,
    defParamCharset: 'utf8',
    limits: { files: limits.files, fields: limits.fields, fieldSize: limits.fieldBytes, fieldNameSize: 1000 },
  });
  const body = upToFormEnd(request.headers['content-type'] ?? '');
  const fields = new Map<string, string[]>();
  const files: UploadedFile[] = [];
  const written: Promise<unknown>[] = [];
  let length = 0;
  let number = 0;

  return new Promise((resolve) => {
    const settle = (result: ReadForm): void => {
      stall.cancel();
      request.off('data', take).off('end', ended).off('close', disconnected);
      request.unpipe(body);
      if (result.type !== 'form') {
        body.destroy();
        parser.destroy();
      }
      resolve(result);
    };
    const broken = (reason: string): void => settle({ type: 'broken', reason });
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      stall.restart();
      if (length > bytes) settle({ type: 'too-large' });
    };
    const ended = (): void => stall.cancel();
    const disconnected = (): void => {
      if (!request.readableEnded) settle({ type: 'disconnected' });
    };

    // An empty name is undefined, whatever the types of the parser say.
    parser.on('field', (sent: string | undefined, value, { nameTruncated, valueTruncated }) => {
      const name = sent ?? '';
      if (nameTruncated) broken('the name of a field is too long');
      else if (valueTruncated) broken(`the field ${name} is longer than ${limits.fieldBytes} bytes`);
      else fields.set(name, [...(fields.get(name) ?? []), value]);
    });
    parser.on('file', (sent: string | undefined, stream, { filename, mimeType }) => {
      const field = sent ?? '';
      const path = join(folder, String(number++));
      const target = openFile(path);
      let size = 0;
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length;
      });
      // The parser was destroyed in the middle of a file; whatever destroyed it has settled.
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
        () => settle({ type: 'form', form: { fields, files }, remove: () => removeUploads(folder) }),
        () => undefined,
      );
    });

    const stall = startTimer(stallMilliseconds, () => settle({ type: 'stalled' }));
    begin?.();
    request.on('data', take).on('end', ended).on('close', disconnected);
    request.pipe(body).pipe(parser);
  });
}

/** Passes a `multipart` body on up to its closing delimiter. The parser would read what follows as further parts and never finish. */
export function upToFormEnd(contentType: string): Transform {
  const closing = Buffer.from(`\r\n--${boundaryOf(contentType)}--`);
  // The first delimiter may be at the very beginning, without a line break before it.
  let tail = closing.subarray(0, 2);
  let isOver = false;
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      if (isOver) return done();
      const joined = Buffer.concat([tail, chunk]);
      const index = joined.indexOf(closing);
      isOver = index >= 0;
      if (isOver) return done(null, joined.subarray(tail.length, index + closing.length));
      tail = joined.subarray(Math.max(0, joined.length - closing.length + 1));
      return done(null, chunk);
    },
  });
}

function boundaryOf(contentType: string): string {
  const { quoted, plain } = /;\s*boundary=(?:"(?<quoted>[^"]*)"|(?<plain>[^\s;]*))/i.exec(contentType)?.groups ?? {};
  return quoted ?? plain ?? '';
}

const openUpload = (path: string): Writable => createWriteStream(path, { mode: 0o600, flags: 'wx' });

/** The last part of a path of any system. */
const plainName = (name: string | undefined): string => (name ?? '').split(/[/\\]/).at(-1) ?? '';

const beginning = 'parley-upload-';

/** Creates a folder for the files of one request, readable for this account only. Its name has the process id. */
export function uploadFolder(parent = tmpdir(), pid = process.pid): Promise<string> {
  return mkdtemp(join(parent, `${beginning}${pid}-`));
}

async function removeUploads(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes folders of servers that were killed, but not those of running ones. */
export async function removeLeftovers(parent = tmpdir(), alive: (pid: number) => boolean = isAlive): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const own = new RegExp(`^${beginning}(\\d+)-`);
  const left = names.filter((name) => {
    const pid = Number(own.exec(name)?.[1]);
    return Number.isInteger(pid) && pid > 0 && !alive(pid);
  });
  await Promise.all(left.map((name) => removeUploads(join(parent, name)).catch(() => undefined)));
}
