import { read } from '../../api/call.ts';
import { server } from '../../app/server.svelte.ts';
import { type ModelEntry, modelEntries, modelName } from './model-list.ts';

export const models = $state<{ list: readonly ModelEntry[]; chosen: string | undefined }>({
  list: [],
  chosen: undefined,
});

/** The model that the person chose; undefined if the server has only one. */
export function chosenModel(): string | undefined {
  return server.features.router ? models.chosen : undefined;
}

/** Which are loaded changes with what is asked of them. */
export async function fetchModels(): Promise<void> {
  try {
    models.list = modelEntries(await read('v1/models', { background: true }));
  } catch {
    // Whoever asks next may have more luck; the list of before is still a good one.
  }
}

/** Who answers the next message, by its name for people; empty where nobody does. */
export function answeringModel(): string {
  return modelName(chosenModel() ?? server.model);
}
