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

/** Fetches the models; which ones are loaded changes with use. */
export async function fetchModels(): Promise<void> {
  try {
    models.list = modelEntries(await read('v1/models', { background: true }));
  } catch {
    // Keeps the previous list.
  }
}

/** Display name of the model that answers next; empty if none is loaded. */
export function answeringModel(): string {
  return modelName(chosenModel() ?? server.model);
}
