import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface Machine {
  readonly platform: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const folder = 'espeak-ng-data';

/** Where the tables of eSpeak may be, which most voices need to know how words sound: beside the model first. */
export function espeakPlaces(model: string, { platform, environment }: Machine): readonly string[] {
  const named = environment.ESPEAK_DATA_PATH;
  return [
    join(model, folder),
    join(dirname(model), folder),
    join(dirname(dirname(model)), folder),
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

/** Throws a sentence that says where to put it. */
export async function findEspeakData(model: string, machine: Machine): Promise<string> {
  for (const place of espeakPlaces(model, machine)) {
    const found = await stat(join(place, 'phontab')).catch(() => undefined);
    if (found?.isFile()) return place;
  }
  throw new Error(
    `it needs the folder ${folder}, which says how words sound. Put that folder beside the model, or install espeak-ng (its package has it), or name it with the variable ESPEAK_DATA_PATH`,
  );
}
