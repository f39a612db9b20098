import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** A file that can be made anew at any time, and is known by its hash. */
export interface KeptFile {
  readonly name: string;
  readonly sha256: string;
  /** Where it may lie, the best place first. */
  readonly folders: readonly string[];
  readonly make: (path: string) => Promise<unknown>;
}

/**
 * The path of the file: found whole in one of its places, or made in the first that takes it. It comes into being under
 * another name, so that nobody ever finds half of it. Throws one sentence where no place can be used.
 */
export async function keptFile({ name, sha256, folders, make }: KeptFile): Promise<string> {
  for (const folder of folders) {
    const path = join(folder, name);
    if ((await hashOf(path)) === sha256) return path;
  }
  const reasons: string[] = [];
  for (const folder of folders) {
    try {
      return await madeIn(folder, { name, sha256, make });
    } catch (error) {
      reasons.push(`${folder}: ${(error as Error).message}`);
    }
  }
  throw new Error(`${name} could not be written (${reasons.join('; ')})`);
}

async function madeIn(folder: string, { name, sha256, make }: Omit<KeptFile, 'folders'>): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  const growing = `${path}.${randomUUID()}.part`;
  try {
    await make(growing);
    if ((await hashOf(growing)) !== sha256) throw new Error('it came out other than expected');
    await rename(growing, path);
    return path;
  } finally {
    await rm(growing, { force: true });
  }
}

/** Undefined for a file that is not there or cannot be read. */
export async function hashOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
  } catch {
    return undefined;
  }
  return hash.digest('hex');
}
