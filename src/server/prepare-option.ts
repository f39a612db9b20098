import type { Settings } from '../config/flags.ts';
import type { Running } from '../config/load.ts';
import { AppError } from '../core/errors.ts';
import { type ModelFile, readModelFile } from '../engines/llama/load-options.ts';
import { type PreparedModel, prepareModel } from '../models/prepared-model.ts';
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
