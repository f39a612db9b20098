import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';

/** Which files of a folder to list. */
export type FileKind = 'model' | 'config' | 'any';

const endings: Readonly<Record<FileKind, RegExp>> = {
  model: /\.(gguf|bin|safetensors|onnx)$/i,
  config: /\.(kcpps|kcppt)$/i,
  any: /./,
};

const maxEntries = 2000;

/** Folders in which files may be listed: the home folder, the working folder, and drives. */
export function allowedFolders(
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

/** The content of a folder; undefined if it is missing, unreadable or not allowed. */
export async function listFolder(path: string, kind: FileKind, roots: readonly string[]) {
  const real = await allowedPath(path, roots);
  if (real === undefined) return undefined;
  const children = await readdir(real, { withFileTypes: true }).catch(() => undefined);
  if (!children) return undefined;
  const listed = await Promise.all(
    children.filter(({ name }) => !name.startsWith('.')).map((entry) => entryOf(join(real, entry.name), entry.name)),
  );
  const entries = listed.flatMap((entry) => (entry && (entry.folder || endings[kind].test(entry.name)) ? [entry] : []));
  entries.sort((a, b) => Number(b.folder) - Number(a.folder) || a.name.localeCompare(b.name, 'en'));
  const parent = dirname(real);
  return {
    path: real,
    /** Undefined at the top of an allowed folder. */
    parent: parent !== real && (await allowedPath(parent, roots)) !== undefined ? parent : undefined,
    entries: entries.slice(0, maxEntries),
    /** Entries that are not listed. */
    more: Math.max(0, entries.length - maxEntries),
  };
}

/** The real path, with links resolved, if it is allowed. */
export async function allowedPath(path: string, roots: readonly string[]): Promise<string | undefined> {
  if (!isAbsolute(path) || path.includes('\0')) return undefined;
  const real = await realpath(resolve(path)).catch(() => undefined);
  if (real === undefined) return undefined;
  const realRoots = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  return realRoots.some((root) => root !== undefined && isBelow(real, root)) ? real : undefined;
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}

async function entryOf(path: string, name: string) {
  // A link is listed as its target; a broken one is not listed.
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isDirectory()) return { name, path, folder: true } as const;
  return facts?.isFile() ? { name, path, folder: false, bytes: facts.size } : undefined;
}
