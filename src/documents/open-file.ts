import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import type { CollectionFile, ExtractedDocument, FileContent } from '../core/documents.ts';
import { AppError, isDiskFull } from '../core/errors.ts';
import { tooLarge } from './extraction/messages.ts';
import type { FileRow } from './storage/rows.ts';
import { diskErrorCode } from './storage/sqlite.ts';

/** An open file, and its size when it was opened. */
interface OpenFile {
  readonly file: FileHandle;
  readonly bytes: number;
}

const pieceBytes = 256 * 1024;
/** Of a file that is replaced while it is opened, as editors do when they save. */
const maxTries = 3;
/** Opening a pipe would wait for its other end. Windows has neither flag. */
const plainFlags = constants.O_RDONLY | constants.O_NONBLOCK;

/** The path is not a regular file, or is a link that may lead out of the folder. The index treats it as deleted. */
export class ReplacedFile extends Error {
  readonly code = 'ENOENT';
}

/** Opens a file, and neither a pipe nor a device. `inFolder`: the path is that of a file of a watched folder, where links are not followed. */
export async function openFile(path: string, inFolder = false): Promise<OpenFile> {
  for (let tries = 1; ; tries += 1) {
    const file = await open(path, inFolder ? plainFlags | constants.O_NOFOLLOW : plainFlags).catch(
      refuseReplaced(path),
    );
    try {
      const { ino, size } = await file.stat().then((state) => {
        if (state.isFile()) return state;
        throw new ReplacedFile(`${path} is no file`);
      });
      if (!inFolder) return { file, bytes: size };
      if ((await realpath(path)) !== path) throw new ReplacedFile(`${path} is a link`);
      // Otherwise another file was opened, perhaps through a folder that was a link for a moment.
      if ((await stat(path)).ino === ino) return { file, bytes: size };
      if (tries === maxTries) throw new ReplacedFile(`${path} is replaced all the time`);
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
  }
}

/** A link with O_NOFOLLOW, a socket, and a folder on Windows. */
const replacedCodes = new Set(['ELOOP', 'EMLINK', 'ENXIO', 'EISDIR']);

const refuseReplaced = (path: string) => (error: NodeJS.ErrnoException) => {
  throw replacedCodes.has(error.code ?? '') ? new ReplacedFile(`${path} is no file`, { cause: error }) : error;
};

/** The content of a file as it was when it was opened, without what is added meanwhile. Its first piece is read before a reply begins: most failures are seen by then. */
export async function fileContent(name: string, path: string, inFolder: boolean): Promise<FileContent> {
  let opened: OpenFile | undefined;
  try {
    opened = await openFile(path, inFolder);
    const first = await readPiece(name, opened, 0);
    return { bytes: opened.bytes, stream: piecesOf(name, opened, first) };
  } catch (error) {
    await opened?.file.close();
    throw contentError(name, error);
  }
}

/** No generator: one that is ended before its first step would leave the file open. */
function piecesOf(name: string, opened: OpenFile, first: Uint8Array): AsyncIterableIterator<Uint8Array> {
  let position = 0;
  const end = async () => {
    await opened.file.close();
    return { done: true, value: undefined } as const;
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      if (position >= opened.bytes) return end();
      try {
        const piece = position === 0 ? first : await readPiece(name, opened, position);
        position += piece.length;
        return { done: false, value: piece };
      } catch (error) {
        await end();
        throw contentError(name, error);
      }
    },
    return: end,
  };
}

async function readPiece(name: string, { file, bytes }: OpenFile, position: number): Promise<Uint8Array> {
  const piece = new Uint8Array(Math.min(pieceBytes, bytes - position));
  const { bytesRead } = await file.read(piece, 0, piece.length, position);
  if (bytesRead === 0 && piece.length > 0) throw new AppError('file-changed', { name });
  return piece.subarray(0, bytesRead);
}

function contentError(name: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof ReplacedFile) return new AppError('file-replaced', { name }, { cause: error });
  if (code === 'ENOENT' || code === 'ENOTDIR') return new AppError('file-gone', { name }, { cause: error });
  const isDenied = code === 'EACCES' || code === 'EPERM';
  const reason = isDenied ? 'the server has no permission' : `the disk reports ${code || 'an error'}`;
  return new AppError('document-unreadable', { name, reason, kind: 'invalid' }, { cause: error });
}

export type ReadDocument = (name: string, path: string, signal: AbortSignal) => Promise<ExtractedDocument>;

/** Size and modification time, which show that a file has changed. A pipe or device in its place is refused: opening it could block forever. */
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
export function readingError(error: unknown): 'missing' | NonNullable<CollectionFile['error']> {
  const { code } = error as NodeJS.ErrnoException;
  if (isDiskFull(error) || code === diskErrorCode) throw error;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
  if (error instanceof AppError && error.code === 'document-unreadable') {
    const { kind } = (error as AppError<'document-unreadable'>).details;
    return { code: failureCodes[kind], message: error.message };
  }
  return { code: 'server_error', message: error instanceof Error ? error.message : String(error) };
}
