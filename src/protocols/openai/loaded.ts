import { AppError } from '../../core/errors.ts';
import type { TextService } from '../../core/text-service.ts';

/** For what is counted rather than generated: without a model there are no tokens, and 0 would be a lie. */
export function refuseWithoutModel(text: Pick<TextService, 'state'>): void {
  const state = text.state();
  if (state.type === 'none') throw new AppError('model-missing', { capability: 'text', flag: '--model FILE' });
  if (state.type === 'failed') throw new AppError('model-load-failed', { model: state.name, reason: state.reason });
}
