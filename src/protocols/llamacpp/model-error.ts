import { AppError } from '../../core/errors.ts';
import type { TextState } from '../../core/text-service.ts';

/** Why there is no model to ask; none while one is there or on its way. */
export function modelError(state: TextState): AppError | undefined {
  if (state.type === 'none') return new AppError('model-missing', { capability: 'text', flag: '--model FILE' });
  if (state.type === 'failed') return new AppError('model-load-failed', { model: state.name, reason: state.reason });
  return undefined;
}
