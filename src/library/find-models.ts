import { realpath, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { FoundFile } from './found-file.ts';
import { hubFiles } from './hub-cache.ts';
import { ollamaFiles } from './ollama-store.ts';
import type { Place } from './places.ts';
import { filesBelow } from './walk.ts';

/** The second and later parts of a model that was split are found by its first. */
const laterPart = /-(?!00001)\d{5}-of-\d{5}\.gguf$/i;
const projector = /(^|[-_.])mmproj[-_.]/i;

/** Every model file in these places, each file once, under the name of the first place that knows it. */
export async function findModels(places: readonly Place[]): Promise<readonly FoundFile[]> {
  const found = (await Promise.all(places.map(filesOf))).flat();
  const known = new Map<string, FoundFile>();
  for (const file of found) {
    if (laterPart.test(file.path) || projector.test(basename(file.path))) continue;
    const path = await wholeFile(file.path);
    if (path !== undefined && !known.has(path)) known.set(path, file);
  }
  return [...known.values()];
}

async function filesOf({ program, folder, layout }: Place): Promise<readonly FoundFile[]> {
  if (layout === 'ollama') return ollamaFiles(folder);
  if (layout === 'hugging-face') return hubFiles(folder);
  const paths = await filesBelow(folder, /\.gguf$/i);
  return paths.map((path) => ({ name: basename(path).replace(/\.gguf$/i, ''), path, program }));
}

/** Where it really lies; nothing for what is not there any more or was never written to its end. */
async function wholeFile(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    const facts = await stat(real);
    return facts.isFile() && facts.size > 0 ? real : undefined;
  } catch {
    return undefined;
  }
}
