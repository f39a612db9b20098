import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import type { Settings } from '../config/flags.ts';
import type { ReloadTarget } from '../config/load.ts';
import { ownFolder } from '../core/data-folder.ts';
import { nameKey, uniqueNames } from '../core/model-names.ts';
import { ollamaFileName } from '../library/ollama/name.ts';

/** Targets of a swap that are no files of the folder. */
export const initialModel = 'initial_model';
export const unloadModel = 'unload_model';

/** The folder whose models and configs can be switched to: with `--admin` the working directory by default. */
export function modelsFolder({ admin, admindir }: Settings): string {
  return admindir || (admin ? '.' : ownFolder('models'));
}

const endings = /\.(kcpps|kcppt|gguf)$/i;

interface LinkPolicy {
  /** `--adminallowlinks`: links may lead out of the folder. */
  readonly allowLinks?: boolean;
  /** Called for each link that is skipped because it leads out of the folder. */
  readonly onSkipped?: (name: string) => void;
}

/** The configs and models of a folder and one folder deeper. Links that lead out are skipped, unless allowed. */
export async function adminFiles(folder: string, links: LinkPolicy = {}): Promise<readonly string[]> {
  const entries = await entriesOf(folder);
  const below = await Promise.all(
    entries.map(async (entry) => {
      if (!(await isFolder(folder, entry, links))) return [];
      const inside = await entriesOf(join(folder, entry.name));
      return inside.map((one) => ({ entry: one, name: `${entry.name}/${one.name}` }));
    }),
  );
  const candidates = [...entries.map((entry) => ({ entry, name: entry.name })), ...below.flat()]
    .filter(({ entry, name }) => (entry.isFile() || entry.isSymbolicLink()) && endings.test(name))
    .map(async ({ entry, name }) => {
      if (entry.isFile()) return [name];
      const location = await locationOf(folder, name);
      if (location?.outside && !links.allowLinks && location.type === 'file') links.onSkipped?.(name);
      return isAllowed(location, links) ? [name] : [];
    });
  return (await Promise.all(candidates)).flat().sort();
}

/** The option of this name; undefined if it is not listed, or is a link out of the folder. */
export async function adminTarget(
  folder: string,
  name: string,
  links: LinkPolicy = {},
): Promise<ReloadTarget | undefined> {
  if (name === initialModel) return { type: 'initial' };
  if (name === unloadModel) return { type: 'unload' };
  const path = await listedFile(folder, name, links);
  if (path === undefined) return undefined;
  return isModelFile(name) ? { type: 'model', path } : { type: 'config', path };
}

export async function listedFile(folder: string, name: string, links: LinkPolicy = {}): Promise<string | undefined> {
  if (!(await adminFiles(folder, links)).includes(name)) return undefined;
  const location = await locationOf(folder, name);
  return isAllowed(location, links) ? location?.path : undefined;
}

/** Which of the listed files a path is; undefined where it is none of them. */
export async function fileOfFolder(
  folder: string,
  files: readonly string[],
  path: string,
): Promise<string | undefined> {
  try {
    const [root, parent] = await Promise.all([realpath(folder), realpath(dirname(path))]);
    return files.find((file) => join(root, ...file.split('/')) === join(parent, basename(path)));
  } catch {
    return undefined;
  }
}

/**
 * What each listed file answers to, its id first: `small` where only one file is called so, or else as much of `sub/small.gguf`
 * as it takes to tell it from the others. A short name that several could have means the config, or else the first of them.
 */
export function optionNames(
  files: readonly string[],
  /** The model of the start, and its file if that is listed. */
  initial?: { readonly name: string; readonly file: string | undefined },
): ReadonlyMap<string, readonly [string, ...string[]]> {
  const others = files.filter((file) => file !== initial?.file);
  const ids = uniqueNames(others.map(formsOf), initial ? [initial.name] : []);
  const idOf = new Map(others.map((file, index) => [file, ids[index] ?? file]));
  if (initial?.file !== undefined) idOf.set(initial.file, initial.name);
  const owners = new Map<string, string>();
  for (const file of [...files.filter((one) => !isModelFile(one)), ...files])
    for (const form of formsOf(file).map((one) => one.toLowerCase())) {
      if (!owners.has(form)) owners.set(form, file);
    }
  const idOwners = new Map([...idOf].map(([file, id]) => [nameKey(id), file]));
  if (initial && initial.file === undefined) idOwners.set(nameKey(initial.name), '');
  return new Map(
    files.map((file) => {
      const id = idOf.get(file) ?? file;
      const isOthers = (form: string) => (idOwners.get(nameKey(form)) ?? file) !== file;
      const isOwn = (form: string) => owners.get(form.toLowerCase()) === file && !isOthers(form);
      return [file, [id, ...formsOf(file).filter((form) => form !== id && (form === file || isOwn(form)))]];
    }),
  );
}

/** From the short name to the whole one. */
function formsOf(file: string): readonly string[] {
  const whole = file.replace(endings, '');
  const short = basename(file).replace(endings, '');
  const [folder = ''] = file.split('/');
  const named = ollamaFileName(folder.replace('--', '/'), short);
  return [...new Set([...(named === undefined ? [] : [named]), short, whole, file])];
}

export function isModelFile(name: string): boolean {
  return /\.gguf$/i.test(name);
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

/** A linked folder is read only where links are allowed. */
async function isFolder(folder: string, entry: Dirent, links: LinkPolicy): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  const location = await locationOf(folder, entry.name);
  if (location?.type !== 'folder') return false;
  if (location.outside && !links.allowLinks) links.onSkipped?.(entry.name);
  return links.allowLinks ?? false;
}

interface Location {
  readonly path: string;
  readonly type: 'file' | 'folder' | 'other';
  /** Whether a link leads out of the folder. */
  readonly outside: boolean;
}

async function locationOf(folder: string, name: string): Promise<Location | undefined> {
  try {
    const root = await realpath(folder);
    const path = join(root, ...name.split('/'));
    const real = await realpath(path);
    const facts = await stat(real);
    const type = facts.isFile() ? 'file' : facts.isDirectory() ? 'folder' : 'other';
    return { path, type, outside: !real.startsWith(root + sep) };
  } catch {
    return undefined;
  }
}

function isAllowed(location: Location | undefined, { allowLinks = false }: LinkPolicy): boolean {
  return location?.type === 'file' && (allowLinks || !location.outside);
}
