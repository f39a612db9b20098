import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageFolder, packageProblem } from '../../package-folder.ts';
import type { WhisperAddon } from './addon.ts';

/** A build of whisper.cpp: an addon of Node, or the folder of its library. */
type WhisperBuild =
  | { readonly type: 'addon'; readonly addon: WhisperAddon; readonly gpu: boolean }
  | { readonly type: 'library'; readonly folder: string };

/** Whose library is built for every generation of processors; the addon for Linux x64 has no AVX. */
export const libraryPackage = '@spader/node-whisper-cpp-x64-linux-cpu-gnu';

export interface BuildDeps {
  /** Whether GPU builds are disabled. */
  readonly cpuOnly: boolean;
  readonly note: (text: string) => void;
  readonly find?: (name: string) => string | undefined;
  readonly load?: (folder: string) => unknown;
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
}

/** GPU builds and the library are packs. If an installed one cannot be used, the next is tried. */
export function chooseBuild(parts: BuildDeps): WhisperBuild {
  const { cpuOnly, note, find = packageFolder, load = createRequire(import.meta.url), system = process } = parts;
  const base = `@fugood/node-whisper-${system.platform}-${system.arch}`;
  for (const variant of cpuOnly ? [] : ['-cuda', '-vulkan']) {
    const folder = find(`${base}${variant}`);
    if (folder === undefined) continue;
    try {
      return { type: 'addon', addon: load(checked(folder, `${base}${variant}`)) as WhisperAddon, gpu: true };
    } catch (error) {
      note(`whisper${variant} could not be used: ${firstLine(error)}`);
    }
  }
  if (system.platform === 'linux' && system.arch === 'x64') {
    const folder = find(libraryPackage);
    if (folder === undefined) {
      note('whisper.cpp runs without AVX, some seven times slower than it could. Run: parley pack add whisper-cpu');
    } else {
      try {
        return { type: 'library', folder: join(checked(folder, libraryPackage), 'bins') };
      } catch (error) {
        note(`whisper-cpu could not be used: ${firstLine(error)}`);
      }
    }
  }
  const folder = find(base);
  if (folder === undefined) {
    throw new Error(
      `${base} is not installed, or there is none for this system; without the flag a small model hears English`,
    );
  }
  try {
    return { type: 'addon', addon: load(folder) as WhisperAddon, gpu: false };
  } catch (error) {
    throw new Error(`${base} could not be loaded: ${firstLine(error)}`, { cause: error });
  }
}

/** Throws if the package is damaged, or of another version than the packs of this program. */
function checked(folder: string, name: string): string {
  const reason = packageProblem(folder, name);
  if (reason !== undefined) throw new Error(reason);
  return folder;
}

function firstLine(error: unknown): string {
  return (error as Error).message.split('\n')[0] ?? '';
}
