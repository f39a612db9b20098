import { readFileSync, statSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import type { SystemFolders } from '../core/data-folder.ts';

interface ProgramFiles {
  readonly isFile: (path: string) => boolean;
  /** Throws if it cannot be read. */
  readonly read: (path: string) => string;
}

/** Those of this machine. */
const ownFiles: ProgramFiles = {
  isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
  read: (path) => readFileSync(path, 'utf8'),
};

/** A program as it is started without a shell, in which arguments could become commands. */
export interface Program {
  readonly path: string;
  /** Put in front of the user's arguments: the script, where `path` is Node. */
  readonly arguments: readonly string[];
}

/** The program of this name on the path; undefined if there is none. Throws for a script of Windows that needs a shell. */
export function findProgram(
  name: string,
  { platform, environment }: Pick<SystemFolders, 'platform' | 'environment'>,
  { isFile, read }: ProgramFiles = ownFiles,
  node = process.execPath,
): Program | undefined {
  const windows = platform === 'win32';
  const { join, delimiter, dirname } = windows ? win32 : posix;
  const folders = (environment.PATH ?? environment.Path ?? '').split(delimiter).filter((folder) => folder !== '');
  // A relative folder on the path depends on the project, which may hold a program of that name.
  const { isAbsolute } = windows ? win32 : posix;
  const endings = windows ? ['.exe', '.cmd', '.bat'] : [''];
  const candidates = folders.filter(isAbsolute).flatMap((folder) => endings.map((end) => join(folder, name + end)));
  const path = candidates.find(isFile);
  if (path === undefined) return undefined;
  if (!windows || path.endsWith('.exe')) return { path, arguments: [] };
  const target = shimTarget(read(path));
  if (target === undefined)
    throw new Error(`${path} is a script that cannot be started without a shell; install ${name} with npm`);
  const file = win32.join(dirname(path), target);
  return /\.exe$/i.test(file) ? { path: file, arguments: [] } : { path: node, arguments: [file] };
}

/** The file that a `.cmd` of npm starts, relative to its folder. */
function shimTarget(text: string): string | undefined {
  const files = [...text.matchAll(/"%(?:~dp0|dp0%)\\([^"%\r\n]+\.(?:c?js|mjs|exe))"/gi)].map(([, file]) => file);
  return files.findLast((file) => file !== undefined && !/^node\.exe$/i.test(file));
}
