import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writeConfigFile } from '../config/config-file.ts';
import { type FlagKey, flagKeys, flagOf, type Settings } from '../config/flags.ts';
import { modelPath } from '../models/text-engine.ts';

/** The settings of a model: neither those of the server nor secrets. */
const modelKeys: ReadonlySet<FlagKey> = new Set(
  flagKeys.filter((key) => {
    const flag = flagOf(key);
    return flag.scope !== 'server' && !('secret' in flag && flag.secret);
  }),
);
const maxNumber = 99;

/** Writes all settings of a model to a config of its name, never over an existing file. Resolves to its path. */
export async function saveConfig(settings: Settings, { folder, name }: { folder: string; name: string }) {
  const path = modelPath(settings);
  const text = writeConfigFile({ ...settings, model: path === undefined ? null : [path] }, 'config', modelKeys);
  const stem = name.replace(/[^\w.-]+/g, '_').replace(/^\.+/, '') || 'model';
  await mkdir(folder, { recursive: true });
  for (let number = 1; ; number += 1) {
    const file = resolve(join(folder, number === 1 ? `${stem}.kcpps` : `${stem}-${number}.kcpps`));
    try {
      await writeFile(file, text, { flag: 'wx' });
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number === maxNumber) throw error;
    }
  }
}
