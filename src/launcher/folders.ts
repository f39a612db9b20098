import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';

/** What somebody looks for; a folder shows only what fits, and its folders. */
export type Wanted = 'model' | 'config' | 'any';

export interface Entry {
  readonly name: string;
  readonly path: string;
  readonly folder: boolean;
  readonly bytes?: number;
}

export interface Folder {
  readonly path: string;
  /** Undefined at the top of an allowed place. */
  readonly parent: string | undefined;
  readonly entries: readonly Entry[];
  /** How many entries are there beyond those that are listed. */
  readonly more: number;
}

const endings: Readonly<Record<Wanted, RegExp>> = {
  model: /\.(gguf|bin|safetensors|onnx)$/i,
  config: /\.(kcpps|kcppt)$/i,
  any: /./,
};

/** More would not be looked through by anybody. */
const mostEntries = 2000;

/** The places below which files may be looked at: the person's own, where the program was started, and drives. */
export function allowedPlaces(
  home: string,
  workingFolder: string,
  platform: string,
  others: readonly string[] = [],
): readonly string[] {
  const drives =
    platform === 'win32'
      ? Array.from('CDEFGHIJKLMNOPQRSTUVWXYZ', (letter) => `${letter}:\\`)
      : platform === 'darwin'
        ? ['/Volumes']
        : ['/mnt', '/media', '/run/media', '/srv'];
  return [...new Set([home, workingFolder, ...drives, ...others])];
}

/** What is in a folder; undefined for one that is not there, cannot be read or lies outside of the allowed places. */
export async function listFolder(path: string, wanted: Wanted, places: readonly string[]): Promise<Folder | undefined> {
  const real = await allowedPath(path, places);
  if (real === undefined) return undefined;
  const found = await readdir(real, { withFileTypes: true }).catch(() => undefined);
  if (!found) return undefined;
  const shown = await Promise.all(
    found.filter(({ name }) => !name.startsWith('.')).map((entry) => entryOf(join(real, entry.name), entry.name)),
  );
  const entries = shown.flatMap((entry) =>
    entry && (entry.folder || endings[wanted].test(entry.name)) ? [entry] : [],
  );
  entries.sort((a, b) => Number(b.folder) - Number(a.folder) || a.name.localeCompare(b.name, 'en'));
  const parent = dirname(real);
  return {
    path: real,
    parent: parent !== real && (await allowedPath(parent, places)) !== undefined ? parent : undefined,
    entries: entries.slice(0, mostEntries),
    more: Math.max(0, entries.length - mostEntries),
  };
}

/** The real place of a path, links followed, if it lies where one may look; undefined otherwise. */
export async function allowedPath(path: string, places: readonly string[]): Promise<string | undefined> {
  if (!isAbsolute(path) || path.includes('\0')) return undefined;
  const real = await realpath(resolve(path)).catch(() => undefined);
  if (real === undefined) return undefined;
  const roots = await Promise.all(places.map((place) => realpath(place).catch(() => undefined)));
  return roots.some((root) => root !== undefined && isBelow(real, root)) ? real : undefined;
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}

async function entryOf(path: string, name: string): Promise<Entry | undefined> {
  // A link is shown as what it leads to; one that leads nowhere is not.
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isDirectory()) return { name, path, folder: true };
  return facts?.isFile() ? { name, path, folder: false, bytes: facts.size } : undefined;
}
