import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../core/errors.ts';

/** Files that clients have the server write: in one folder of ours, by plain names, and not more than this in all. */
const mostBytes = 2 ** 30;

/** The name that a file may have there: nothing that leads elsewhere, is hidden, or means something to a system. */
export function outputName(sent: string): string {
  const name = /\.wav$/i.test(sent) ? sent : `${sent}.wav`;
  const plain = /^[\p{L}\p{N}_][\p{L}\p{N} _.-]{0,119}$/u.test(name) && !/[. ]\.wav$/i.test(name);
  const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name);
  if (plain && !reserved) return name;
  const expected = 'a plain file name without folders: files are written to the folder of this server alone';
  throw new AppError('invalid-field', { field: 'file_name_or_path', expected });
}

/** Whole or not at all; a file of that name is replaced, and a link is never followed. */
export async function keepSound(folder: string, name: string, bytes: Uint8Array, id: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const held = await heldBytes(folder);
  if (held + bytes.length > mostBytes) {
    const reason = `the folder for speech holds ${Math.round(held / 2 ** 20)} MB, and more than 1024 MB are not kept; remove some files from it`;
    throw new AppError('engine-failed', { capability: 'speech', reason });
  }
  const path = join(folder, name);
  const part = join(folder, `.${id}.part`);
  try {
    await writeFile(part, bytes, { mode: 0o600, flag: 'wx' });
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return path;
}

async function heldBytes(folder: string): Promise<number> {
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return sizes.reduce((sum, facts) => sum + (facts?.size ?? 0), 0);
}
