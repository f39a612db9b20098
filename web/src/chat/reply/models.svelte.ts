import { modelList } from '../../models/models.svelte.ts';
import type { ModelStatus } from '../../models/status.ts';

export { answeringModel, chosenModel } from '../../models/models.svelte.ts';

/** The models of the server, as far as it tells. */
export const models = {
  get list(): readonly ModelStatus[] {
    return modelList();
  },
};
