import { AppError } from '../core/errors.ts';
import type { MemoryBudget } from './eviction.ts';

export function loadFailed(model: string, reason: string): AppError {
  return new AppError('model-load-failed', { model, reason });
}

export function asLoadError(model: string, thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  return loadFailed(model, thrown instanceof Error ? thrown.message : String(thrown));
}

/** The reason alone, without the name of the model. */
export function reasonOf(error: AppError): string {
  return error.code === 'model-load-failed' ? (error.details as { reason: string }).reason : error.message;
}

export function tooLarge(model: string, need: number, { bytes, count }: MemoryBudget): AppError {
  const gigabytes = (value: number): string => `${(value / 2 ** 30).toFixed(1)} GB`;
  const reason =
    need > bytes || count > 0
      ? `it needs about ${gigabytes(need)} and ${gigabytes(Math.max(0, bytes))} can be had`
      : 'no model may be loaded (--maxmodels)';
  return loadFailed(model, reason);
}
