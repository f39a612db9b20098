import { AppError } from '../core/errors.ts';
import type { TextEngine } from '../core/text-service.ts';

/** The text engine of a server without a text model: every request gets model-missing. */
export function noTextEngine(contextSize: number): TextEngine & { start(): void; stop(): Promise<void> } {
  const missing = () => new AppError('model-missing', { capability: 'text', flag: '--model FILE' });
  return {
    start: () => {},
    stop: () => Promise.resolve(),
    state: () => ({ type: 'none' }),
    contextSize: () => contextSize,
    settled: () => Promise.resolve(),
    generate: (_request, _seed, sink) => {
      sink.event({ type: 'error', error: missing() });
      return { abort: () => {} };
    },
    tokenize: () => Promise.reject(missing()),
    detokenize: () => Promise.reject(missing()),
    pieces: () => Promise.reject(missing()),
  };
}
