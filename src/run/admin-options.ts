import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import type { ReloadTarget } from '../config/reload.ts';

/** What may be swapped in, beside the files of the folder. */
export const initialModel = 'initial_model';
export const unloadModel = 'unload_model';

const endings = /\.(kcpps|kcppt|gguf)$/i;

/**
 * The names under a folder that a server can be switched to: its configs and models, and those one folder deeper. Links that
 * lead out of it, or nowhere, are none of them.
 */
export async function adminFiles(folder: string): Promise<readonly string[]> {
  const entries = await entriesOf(folder);
  const below = await Promise.all(
    entries
      .filter((entry) => entry.isDirectory())
      .map(async ({ name }) =>
        (await entriesOf(join(folder, name))).map((entry) => ({ entry, name: `${name}/${entry.name}` })),
      ),
  );
  const candidates = [...entries.map((entry) => ({ entry, name: entry.name })), ...below.flat()]
    .filter(({ entry, name }) => (entry.isFile() || entry.isSymbolicLink()) && endings.test(name))
    .map(async ({ entry, name }) => (entry.isFile() || (await insidePath(folder, name)) !== undefined ? [name] : []));
  return (await Promise.all(candidates)).flat().sort();
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
  return (await adminFiles(folder)).includes(name) ? insidePath(folder, name) : undefined;
}

/**
 * How clients that name models call each listed file: without folders and ending. Where several would be called the same, a
 * config has the name, or else the first, and the others keep theirs in full.
 */
export function optionNames(files: readonly string[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const file of [...files.filter((one) => !/\.gguf$/i.test(one)), ...files]) {
    const short = shortName(file).toLowerCase();
    if (!owners.has(short)) owners.set(short, file);
  }
  return new Map(
    files.map((file) => [file, owners.get(shortName(file).toLowerCase()) === file ? shortName(file) : file]),
  );
}

function shortName(file: string): string {
  return basename(file).replace(endings, '');
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

async function insidePath(folder: string, name: string): Promise<string | undefined> {
  try {
    const root = await realpath(folder);
    const path = join(root, ...name.split('/'));
    const real = await realpath(path);
    return real.startsWith(root + sep) && (await stat(real)).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}
