import type { Dirent } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { WatchedFolder } from '../../core/documents.ts';
import { matchesGlob } from './globs.ts';

/** A file of a folder. */
export interface FolderFile {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly modified: number;
}

interface ScanLimits {
  /** Of files that are indexed. */
  readonly files: number;
  /** Of all that is looked at. */
  readonly entries: number;
}

const defaultScanLimits: ScanLimits = { files: 50_000, entries: 1_000_000 };
const maxDepth = 64;

interface ScanOptions {
  readonly signal: AbortSignal;
  /** Called with the whole path of each folder, before it is looked through. */
  readonly entered?: (path: string) => void;
  readonly limits?: ScanLimits;
}

/** What a scan did not look at, as sentences. */
export interface ScanReport {
  readonly notes: readonly string[];
}

type Rules = Pick<WatchedFolder, 'include' | 'exclude'>;

/** Neither hidden ones nor what programs install. */
function entersFolder({ exclude }: Rules, path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return !(name.startsWith('.') || name === 'node_modules' || name === '__pycache__' || isExcluded(exclude, path));
}

function takesFile({ include, exclude }: Rules, path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (isExcluded(exclude, path)) return false;
  if (include.length > 0) return include.some((glob) => matchesGlob(glob, path));
  return !name.startsWith('.') && !name.startsWith('~$') && !textless.has(extname(name).toLowerCase());
}

const isExcluded = (exclude: readonly string[], path: string): boolean =>
  exclude.some((glob) => matchesGlob(glob, path));

/** Files without text, which are left out unless a rule includes them. */
const textless = new Set(
  (
    'png jpg jpeg gif webp avif heic bmp ico tif tiff psd raw svgz mp3 wav flac ogg opus m4a aac wma mp4 mkv webm avi mov wmv ' +
    'zip gz bz2 xz zst 7z rar tar tgz iso dmg exe dll so dylib o a lib class jar wasm pyc bin dat db sqlite gguf safetensors onnx pt ' +
    'ttf otf woff woff2 eot collection lock part tmp swp'
  )
    .split(' ')
    .map((extension) => `.${extension}`),
);

/** Gives the files of a folder a few at a time, whatever its size. Links are not followed. */
export async function* scanFolder(
  folder: WatchedFolder,
  { signal, entered = () => undefined, limits = defaultScanLimits }: ScanOptions,
): AsyncGenerator<FolderFile, ScanReport> {
  const notes: string[] = [];
  let [files, entries, large, unreadable] = [0, 0, 0, 0];
  const open = [''];
  let isCut = false;
  scan: for (let at = open.pop(); at !== undefined; at = open.pop()) {
    entered(join(folder.path, at));
    // The folder itself must be there: otherwise nothing is known about its files.
    const names = at === '' ? await opendir(folder.path) : await opendir(join(folder.path, at)).catch(() => undefined);
    if (!names) {
      unreadable += 1;
      continue;
    }
    for await (const entry of names) {
      signal.throwIfAborted();
      entries += 1;
      isCut = files >= limits.files || entries > limits.entries;
      if (isCut) break scan;
      const path = at === '' ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory()) {
        if (entersFolder(folder, path) && path.split('/').length < maxDepth) open.push(path);
      } else if (isPlainFile(entry) && takesFile(folder, path)) {
        const state = await lstat(join(folder.path, path)).catch(() => undefined);
        if (!state?.isFile()) continue;
        if (state.size > folder.maxFileBytes) large += 1;
        else {
          files += 1;
          yield { path, bytes: state.size, modified: state.mtimeMs };
        }
      }
    }
  }
  if (isCut && files >= limits.files) notes.push(`Only the first ${limits.files} files are indexed.`);
  else if (isCut) notes.push(`Only the first ${limits.entries} entries were looked at.`);
  if (large > 0) notes.push(`${large} ${large === 1 ? 'file is' : 'files are'} too large.`);
  if (unreadable > 0) notes.push(`${unreadable} ${unreadable === 1 ? 'folder' : 'folders'} could not be read.`);
  return { notes };
}

const isPlainFile = (entry: Dirent): boolean => entry.isFile();
