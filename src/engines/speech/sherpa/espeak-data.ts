import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const folder = 'espeak-ng-data';
const libraries = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64'];
const unixFolders = ['/usr/share', '/usr/local/share', ...libraries, '/opt/homebrew/share'];

/** Folders in which the data of eSpeak may be: named by the environment variable, or installed. */
export function espeakFolders(
  platform: string,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const named = environment.ESPEAK_DATA_PATH;
  return [
    ...(named ? [named, join(named, folder)] : []),
    ...(platform === 'win32'
      ? [join(environment.ProgramFiles ?? 'C:\\Program Files', 'eSpeak NG', folder)]
      : unixFolders.map((place) => join(place, folder))),
  ];
}

/** Data of eSpeak, which most voices need for pronunciation: beside the model, or in one of these folders. */
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
