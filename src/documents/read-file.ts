import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { CollectionFile, ExtractedDocument } from '../core/documents.ts';
import { AppError, isDiskFull } from '../core/errors.ts';
import { tooLarge } from './extraction/messages.ts';
import { openFile, ReplacedFile } from './open-file.ts';
import type { FileRow } from './storage/rows.ts';
import { diskErrorCode } from './storage/sqlite.ts';

export type ReadDocument = (name: string, path: string, signal: AbortSignal) => Promise<ExtractedDocument>;

/** By which it is seen that a file has changed. What has become a pipe or a device is no file any more: opening it could take forever. */
export async function fileState(path: string): Promise<{ readonly bytes: number; readonly modified: number }> {
  const state = await stat(path);
  if (!state.isFile()) throw new ReplacedFile(`${path} is no file`);
  return { bytes: state.size, modified: state.mtimeMs };
}

/** Refuses a file beyond the limit while it is read: it may grow meanwhile, or have no end. */
export async function contentHash(
  { name, source, folder }: Pick<FileRow, 'name' | 'source' | 'folder'>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const refuse = () => new AppError('document-unreadable', { name, reason: tooLarge(maxBytes), kind: 'invalid' });
  // What has become a link since the scan may lead out of the folder.
  const { file, bytes } = await openFile(source, folder !== undefined);
  try {
    if (bytes > maxBytes) throw refuse();
    const hash = createHash('sha256');
    let length = 0;
    for await (const chunk of file.createReadStream({ autoClose: false })) {
      signal.throwIfAborted();
      length += chunk.length;
      if (length > maxBytes) throw refuse();
      hash.update(chunk as Uint8Array);
    }
    return hash.digest('base64url');
  } finally {
    await file.close();
  }
}

const failureCodes = { unsupported: 'unsupported_file', invalid: 'invalid_file', interrupted: 'server_error' } as const;

/** What is wrong with a file that could not be read. Throws what is not the fault of the file. */
export function readingError(error: unknown): 'gone' | NonNullable<CollectionFile['error']> {
  const { code } = error as NodeJS.ErrnoException;
  if (isDiskFull(error) || code === diskErrorCode) throw error;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'gone';
  if (error instanceof AppError && error.code === 'document-unreadable') {
    const { kind } = (error as AppError<'document-unreadable'>).details;
    return { code: failureCodes[kind], message: error.message };
  }
  return { code: 'server_error', message: error instanceof Error ? error.message : String(error) };
}
