import { chosenModel, modelList } from '../models/models.svelte.ts';
import { server } from '../models/server.svelte.ts';
import { answering, type ModelStatus } from '../models/status.ts';
import { modelName } from './model-list.ts';

export { answeringModel, chosenModel } from '../models/models.svelte.ts';

/** The models of the server, as far as it tells. */
export const models = {
  get list(): readonly ModelStatus[] {
    return modelList();
  },
};

/** Whether the model of this name, as it stands in replies, answers next. True while that is not known. */
export function isAnswering(name: string): boolean {
  const next = server.models ? answering(modelList(), chosenModel()) : undefined;
  const names = next ? [next.name, modelName(next.id ?? '')] : [modelName(server.model)];
  return names.includes(name) || names.every((one) => one === '');
}
