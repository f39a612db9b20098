import { AppError } from '../../../../core/errors.ts';

/** What the driver says, as one clause without its full stop. */
export function asEngineFailure(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new AppError('engine-failed', { capability: 'image', reason: text.trim().replace(/\.$/, '') });
}

/** Why a model could not be loaded. The driver's own sentence for it names things that no flag here is called by. */
export function loadReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (!/could not create stable-diffusion context/i.test(text)) return text;
  return 'the engine could make no model of it. It may be damaged, of a kind that the engine does not know, or in need of its other parts (--sdclip1, --sdclip2, --sdllm, --sdvae); --debugmode shows what the engine says';
}
