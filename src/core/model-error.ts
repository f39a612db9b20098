import { AppError } from './errors.ts';
import type { TextState } from './text-service.ts';

/** Why there is no model; undefined while one is loaded or loading. */
export function modelError(state: TextState): AppError | undefined {
  if (state.type === 'none') return textModelMissing(state.byName);
  if (state.type === 'failed') return new AppError('model-load-failed', { model: state.name, reason: state.reason });
  if (state.type === 'loading' && state.trouble) {
    const { sentence, reason, retryAfterSeconds } = state.trouble;
    if (sentence !== undefined) return new AppError('remote-down', { sentence, retryAfterSeconds });
    return new AppError('engine-down', { capability: 'text', reason, retryAfterSeconds });
  }
  return undefined;
}

export function textModelMissing(byName = false): AppError {
  return new AppError('model-missing', { capability: 'text', flag: '--model FILE', byName });
}

/** For endpoints that count tokens, where 0 would be wrong. */
export function refuseWithoutModel(state: TextState): void {
  const error = modelError(state);
  if (error) throw error;
}
