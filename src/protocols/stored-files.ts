import { createReadStream } from 'node:fs';
import { AppError } from '../core/errors.ts';
import type { LibrariesOf } from '../core/owner.ts';
import type { FileLibrary, StoredFile, UploadLibrary } from '../core/stored-files.ts';
import type { Call, Reply } from '../http/call.ts';
import type { FormOptions, UploadedFile } from '../http/form.ts';
import { plainFileName } from '../store/stored-files.ts';
import * as f from './fields.ts';

/** The files of clients, for the endpoints of both APIs that have them at the same paths. */
export interface FileServices {
  /** Missing where nothing is stored. */
  readonly files?: LibrariesOf<FileLibrary> | undefined;
  readonly uploads?: LibrariesOf<UploadLibrary> | undefined;
  /** Of forms with a file. */
  readonly fileForm: FormOptions;
  readonly partForm: FormOptions;
}

export const filesPath = '/v1/files';

export function filesOf(call: Call, { files }: Pick<FileServices, 'files'>): FileLibrary {
  if (files) return files.of(call);
  throw new AppError('unsupported', { feature: 'Storing files', instead: 'this server stores nothing' });
}

/** The file of a form, and the name under which it is stored. */
export function sentFile({ form }: Call, field: string) {
  const files = form?.files ?? [];
  const file = files.find((one) => one.field === field) ?? (files.length === 1 ? files[0] : undefined);
  if (!file) throw f.wrong(field, 'the file of a multipart form');
  if (file.bytes === 0) throw f.wrong(field, 'a file that is not empty');
  return { path: file.path, ...sentName(file, field) };
}

/** The name under which a file of a form is stored, and its type where the name does not tell it. */
export function sentName(file: Pick<UploadedFile, 'name' | 'contentType'>, field: string) {
  const declared = file.contentType === 'application/octet-stream' ? undefined : file.contentType;
  const name = plainFileName(file.name, declared);
  if (name === undefined) throw f.wrong(field, 'a file with a name of at most 255 characters');
  return { name, ...(declared !== undefined && !/\.\w+$/.test(name) && isMime(declared) ? { mime: declared } : {}) };
}

export const isMime = (type: string): boolean => /^[\w.+-]{1,80}\/[\w.+-]{1,80}$/.test(type);

export async function fileOf(call: Call, services: FileServices, id: string): Promise<StoredFile> {
  const file = await filesOf(call, services).get(id);
  if (!file) throw new AppError('not-stored', { what: 'file', id });
  return file;
}

/** The content as a download: a browser must not show it as a page of this server. */
export async function contentReply(call: Call, services: FileServices, id: string): Promise<Reply> {
  const file = await fileOf(call, services, id);
  const path = await filesOf(call, services).path(file.id);
  const headers = {
    'content-type': file.mime,
    'content-length': String(file.bytes),
    'content-disposition': attachment(file.name),
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  };
  return { status: 200, headers, stream: createReadStream(path, { highWaterMark: 256 * 1024 }) };
}

/** A header value of safe characters, for any name of a file. */
export function attachment(name: string): string {
  const plain = name.replace(/[^\w .()-]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

export async function deleteFile(call: Call, services: FileServices, id: string): Promise<StoredFile> {
  const file = await fileOf(call, services, id);
  if (!(await filesOf(call, services).delete(file.id))) throw new AppError('not-stored', { what: 'file', id });
  return file;
}
