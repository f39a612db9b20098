import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/errors.ts';

/** Limit of all files that clients let the server write. */
const mostBytes = 2 ** 30;

/** The file name for a name that a client sent; refuses paths, hidden files and reserved names. */
export function outputName(sent: string): string {
  const name = /\.wav$/i.test(sent) ? sent : `${sent}.wav`;
  const plain = /^[\p{L}\p{N}_][\p{L}\p{N} _.-]{0,119}$/u.test(name) && !/[. ]\.wav$/i.test(name);
  const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name);
  if (plain && !reserved) return name;
  const expected = 'a plain file name without folders: files are written to the folder of this server alone';
  throw new AppError('invalid-field', { field: 'file_name_or_path', expected });
}

/** Writes a file atomically. A file of the same name is replaced; a link is replaced too, never followed. */
export async function saveSound(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const used = await folderBytes(folder);
  if (used + bytes.length > mostBytes) {
    const reason = `the folder for speech holds ${Math.round(used / 2 ** 20)} MB, and more than 1024 MB are not kept; remove some files from it`;
    throw new AppError('engine-failed', { capability: 'speech', reason });
  }
  const path = join(folder, name);
  const part = join(folder, `.${randomUUID()}.part`);
  try {
    await writeFile(part, bytes, { mode: 0o600, flag: 'wx' });
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return path;
}

async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return sizes.reduce((sum, facts) => sum + (facts?.size ?? 0), 0);
}
