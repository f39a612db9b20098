import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Running, reloadSettings } from '../config/load.ts';
import { isModelFile } from '../models/admin-options.ts';
import { preloadOrder } from '../models/residence.ts';

/** What configs of `--admindir` are read with. */
export const configSources = {
  readFile: (path: string) => readFileSync(path, 'utf8'),
  environment: process.env,
  exists: existsSync,
};

/** The configs among these files whose models are loaded at startup, in their order. */
export function preloadedConfigs(
  files: readonly string[],
  { folder, initial }: { readonly folder: string; readonly initial: Running },
): readonly string[] {
  const configs = files
    .filter((file) => !isModelFile(file))
    .map((file) => {
      const target = { type: 'config', path: join(folder, file) } as const;
      const base = initial.settings.baseconfig || undefined;
      return { file, preload: reloadSettings(target, base, initial, configSources).settings.preload };
    });
  return preloadOrder(configs).map(({ file }) => file);
}
