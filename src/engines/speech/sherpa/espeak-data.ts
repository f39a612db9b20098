import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const folder = 'espeak-ng-data';

/** The folders of this machine in which the tables of eSpeak may be: named by the variable, or installed. */
export function espeakFolders(
  platform: string,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const named = environment.ESPEAK_DATA_PATH;
  return [
    ...(named ? [named, join(named, folder)] : []),
    ...(platform === 'win32'
      ? [join(environment.ProgramFiles ?? 'C:\\Program Files', 'eSpeak NG', folder)]
      : [
          `/usr/share/${folder}`,
          `/usr/local/share/${folder}`,
          `/usr/lib/x86_64-linux-gnu/${folder}`,
          `/usr/lib/aarch64-linux-gnu/${folder}`,
          `/usr/lib64/${folder}`,
          `/opt/homebrew/share/${folder}`,
        ]),
  ];
}

/**
 * The tables of eSpeak, which most voices need to know how words sound: beside the model, or else in one of the folders of the
 * machine. Throws a sentence that says where to put them.
 */
export async function findEspeakData(model: string, folders: readonly string[]): Promise<string> {
  const beside = [model, dirname(model), dirname(dirname(model))].map((place) => join(place, folder));
  for (const place of [...beside, ...folders]) {
    const found = await stat(join(place, 'phontab')).catch(() => undefined);
    if (found?.isFile()) return place;
  }
  throw new Error(
    `it needs the folder ${folder}, which says how words sound. Put that folder beside the model, or install espeak-ng (its package has it), or name it with the variable ESPEAK_DATA_PATH`,
  );
}
