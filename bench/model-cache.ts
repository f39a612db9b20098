import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type RandomModelOptions, writeRandomModel } from './random-model.ts';

/** A random model that is written once and then found again. */
export async function cachedModel(name: string, options: RandomModelOptions = {}): Promise<string> {
  const folder = join(process.cwd(), '.cache');
  const path = join(folder, `${name}.gguf`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  // Renamed only when it is complete.
  await writeRandomModel(`${path}.part`, options);
  renameSync(`${path}.part`, path);
  return path;
}
