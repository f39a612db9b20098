import { fileURLToPath } from 'node:url';
import { defaultSettings, type Settings } from '../../../../config/flags.ts';
import { loadOptions, readModelFile } from '../../load-options.ts';
import { type Loaded, loadModel } from '../load/model.ts';

export const embeddedModel = fileURLToPath(new URL('../../../../../models/parley-mini.gguf', import.meta.url));

/** The embedded model in the process of the test itself; once for each process, as the library wants it. */
export async function loadEmbedded(settings: Partial<Settings> = {}): Promise<Loaded> {
  const { shape } = await readModelFile(embeddedModel);
  const facts = { model: embeddedModel, name: 'parley-mini', shape, threads: 1, contextSizeGiven: true };
  return loadModel(loadOptions({ ...defaultSettings, contextsize: 512, usecpu: true, ...settings }, facts), () => {});
}
