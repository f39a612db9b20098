import { readdir, realpath } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import type { ReloadTarget } from '../config/reload.ts';

/** What may be swapped in, beside the files of the folder. */
export const initialModel = 'initial_model';
export const unloadModel = 'unload_model';

const endings = /\.(kcpps|kcppt|gguf)$/i;

/** The names under a folder that a server can be switched to: its configs and models, and those one folder deeper. */
export async function adminFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const below = await Promise.all(
    entries
      .filter((entry) => entry.isDirectory())
      .map(async ({ name }) => {
        const inner = await readdir(join(folder, name), { withFileTypes: true }).catch(() => []);
        return inner.filter((entry) => !entry.isDirectory()).map((entry) => `${name}/${entry.name}`);
      }),
  );
  const here = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return [...here, ...below.flat()].filter((name) => endings.test(name)).sort();
}

/** What a name stands for; undefined for one that is not listed, or that leads out of the folder through a link. */
export async function adminTarget(folder: string, name: string): Promise<ReloadTarget | undefined> {
  if (name === initialModel) return { type: 'initial' };
  if (name === unloadModel) return { type: 'unload' };
  const path = await listedFile(folder, name);
  if (path === undefined) return undefined;
  return /\.gguf$/i.test(name) ? { type: 'model', path } : { type: 'config', path };
}

export async function listedFile(folder: string, name: string): Promise<string | undefined> {
  if (!(await adminFiles(folder)).includes(name)) return undefined;
  try {
    const root = await realpath(folder);
    const path = join(root, ...name.split('/'));
    return (await realpath(path)).startsWith(root + sep) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** How a listed file is called by clients that name models: without folders and ending. */
export function optionName(file: string): string {
  return basename(file).replace(endings, '');
}
