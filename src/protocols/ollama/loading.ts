import { AppError } from '../../core/errors.ts';
import { modelError } from '../../core/model-error.ts';
import type { TextModel, TextService } from '../../core/text-service.ts';

/** The model, once it is in memory; whoever asks earlier waits. */
export async function loadedModel(service: TextService): Promise<TextModel> {
  // Nothing is to be counted: the answer comes when the model is there, or is known not to come.
  await service.tokenize('', { addSpecial: false });
  const state = service.state();
  if (state.type === 'ready') return state.model;
  throw modelError(state) ?? new AppError('engine-lost', { capability: 'text' });
}
