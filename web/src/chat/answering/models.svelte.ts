import { read } from '../../api/call.ts';
import { type ModelEntry, modelEntries } from './model-list.ts';

export const models = $state<{ list: readonly ModelEntry[] }>({ list: [] });
let asked = '';

/** Once for each model that answers: the list changes with it. */
export async function fetchModels(current: string): Promise<void> {
  if (asked === current && models.list.length > 0) return;
  asked = current;
  try {
    models.list = modelEntries(await read('v1/models', { background: true }));
  } catch {
    asked = '';
  }
}

export { chatModels } from './model-list.ts';
