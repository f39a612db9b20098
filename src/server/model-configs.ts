import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writeConfigFile } from '../config/config-file.ts';
import { type FlagKey, flagKeys, flagOf, isSecret, type Settings } from '../config/flags.ts';
import { type Running, reloadSettings } from '../config/load.ts';
import { AppError } from '../core/errors.ts';
import { type ModelFile, readModelFile } from '../engines/llama/load-options.ts';
import { isModelFile } from '../models/admin-options.ts';
import { type PreparedModel, prepareModel } from '../models/prepared-model.ts';
import { preloadOrder } from '../models/residence.ts';
import { modelPath } from '../models/text-engine.ts';
import type { Terminal } from '../observe/terminal.ts';

/** The settings of a model where flags leave them open; of a file that may be a download, with its projector. */
export type Settle = (running: Running, file: ModelFile, downloaded: boolean) => Promise<Settings>;

/** A model, or none, as its settings say. `downloaded` is passed on to `settle`. */
export async function prepareOption(
  name: string,
  { settings, given }: Running,
  terminal: Terminal,
  settle: Settle = async (running) => running.settings,
  downloaded = false,
): Promise<PreparedModel> {
  if (settings.engine) {
    const { ownProgram } = await import('../models/program-spec.ts');
    const program = ownProgram(settings, name);
    if (program)
      return (await import('../models/program-models.ts')).prepareProgram(program, { settings, given }, terminal);
  }
  const path = modelPath(settings);
  if (path === undefined) return prepareModel({ name, settings, given, file: undefined }, terminal);
  try {
    const file = await readModelFile(path);
    return await prepareModel(
      { name, settings: await settle({ settings, given }, file, downloaded), given, file },
      terminal,
    );
  } catch (error) {
    throw new AppError('model-load-failed', { model: name, reason: (error as Error).message }, { cause: error });
  }
}

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

/** The settings of a model: neither those of the server nor secrets. */
const modelKeys: ReadonlySet<FlagKey> = new Set(
  flagKeys.filter((key) => flagOf(key).scope !== 'server' && !isSecret(key)),
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
