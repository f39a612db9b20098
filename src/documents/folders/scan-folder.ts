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

/** Where a file system begins: device and inode of the folder itself (`''`), and of each folder in it that is on another device. By relative path. */
export type Mounts = Readonly<Record<string, string>>;

export interface ScanReport {
  /** What was not looked at, as sentences. */
  readonly notes: readonly string[];
  /** Folders that could not be read: nothing is known about their files. */
  readonly unread: ReadonlySet<string>;
  /** Missing if not everything was looked at. */
  readonly mounts?: Mounts;
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

/** Whether the rules take a file of this path. */
export function takesPath(rules: Rules, path: string): boolean {
  const [, ...folders] = foldersOf(path);
  return takesFile(rules, path) && folders.every((folder) => entersFolder(rules, folder));
}

/** The folders that a file is in, the outermost (`''`) first. */
export function foldersOf(path: string): readonly string[] {
  const folders = [''];
  for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) folders.push(path.slice(0, end));
  return folders;
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
  const unread = new Set<string>();
  const mounts: Record<string, string> = {};
  let [files, entries, large, garbled] = [0, 0, 0, 0];
  const open: (readonly [path: string, device: bigint | undefined])[] = [['', undefined]];
  let isCut = false;
  scan: for (let next = open.pop(); next; next = open.pop()) {
    const [at, parentDevice] = next;
    const whole = join(folder.path, at);
    entered(whole);
    try {
      const { dev, ino } = await lstat(whole, { bigint: true });
      if (dev !== parentDevice) mounts[at] = `${dev}:${ino}`;
      for await (const entry of await opendir(whole)) {
        signal.throwIfAborted();
        entries += 1;
        isCut = files >= limits.files || entries > limits.entries;
        if (isCut) break scan;
        const path = at === '' ? entry.name : `${at}/${entry.name}`;
        if (entry.isDirectory()) {
          if (entersFolder(folder, path) && path.split('/').length < maxDepth) open.push([path, dev]);
        } else if (isPlainFile(entry) && takesFile(folder, path)) {
          const state = await lstat(join(folder.path, path)).catch((error: unknown) => {
            if (!isGone(error)) unread.add(at);
            else if (isGarbled(path)) garbled += 1;
          });
          if (!state?.isFile()) continue;
          if (state.size > folder.maxFileBytes) large += 1;
          else {
            files += 1;
            yield { path, bytes: state.size, modified: state.mtimeMs };
          }
        }
      }
    } catch (error) {
      // The folder itself must be there: otherwise nothing is known about its files.
      if (at === '' || signal.aborted) throw error;
      if (await isThere(whole)) unread.add(at);
      else if (isGarbled(at)) garbled += 1;
    }
  }
  if (isCut && files >= limits.files) notes.push(`Only the first ${limits.files} files are indexed.`);
  else if (isCut) notes.push(`Only the first ${limits.entries} entries were looked at.`);
  if (large > 0) notes.push(`${large} ${large === 1 ? 'file is' : 'files are'} too large.`);
  if (unread.size > 0) notes.push(unreadNote(unread));
  if (garbled > 0)
    notes.push(`${garbled} ${garbled === 1 ? 'name is' : 'names are'} not UTF-8 and left out: rename them.`);
  return { notes, unread, ...(!isCut && { mounts }) };
}

function unreadNote(unread: ReadonlySet<string>): string {
  const [first] = [...unread].sort();
  const folders = unread.size === 1 ? '1 folder' : `${unread.size} folders`;
  return `${folders} could not be read (${first || 'this one'}): what was indexed there stays.`;
}

const isGone = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Unless it was removed meanwhile. */
const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => !isGone(error),
  );

/** Linux allows any bytes in a name; those that are not UTF-8 are replaced as it is read, and nothing has the name that remains. */
const isGarbled = (path: string): boolean => path.includes('\ufffd');

const isPlainFile = (entry: Dirent): boolean => entry.isFile();
