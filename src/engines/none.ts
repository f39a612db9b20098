import { type TextEngine, textModelMissing } from '../core/text-service.ts';

/** The text engine of a server without a text model: every request gets model-missing. */
export function noTextEngine(
  contextSize: number,
  byName = false,
): TextEngine & { start(): void; stop(): Promise<void> } {
  const state = { type: 'none', ...(byName && { byName }) } as const;
  const missing = () => textModelMissing(byName);
  return {
    start: () => {},
    stop: () => Promise.resolve(),
    state: () => state,
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
