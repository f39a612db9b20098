import { AppError } from '../../../../core/errors.ts';

/** What the driver says, as one clause without its full stop. */
export function asEngineFailure(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new AppError('engine-failed', { capability: 'image', reason: text.trim().replace(/\.$/, '') });
}
