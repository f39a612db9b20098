import type { GenerationEvent } from '../core/events.ts';

/** How far a prompt is processed, in the form of llama-server. */
export interface PromptProgressBody {
  readonly total: number;
  readonly cache: number;
  /** Those from the cache included. */
  readonly processed: number;
  readonly time_ms: number;
}

/** They may come while the prompt is processed. */
const unrelated: ReadonlySet<GenerationEvent['type']> = new Set(['compacting', 'warning', 'prompt-logprobs', 'error']);

/**
 * `prompt_progress` of a stream: for each event what has to be sent before it, if anything. The first has the tokens from the cache, the
 * last one, before the text, has all tokens. Nothing without the length of the prompt, which not every remote backend reports.
 */
export function promptProgress(now: () => number): (event: GenerationEvent) => PromptProgressBody | undefined {
  let startedAt = 0;
  let total = 0;
  let cache = 0;
  let processed = 0;
  const body = (): PromptProgressBody => ({ total, cache, processed, time_ms: Math.round(now() - startedAt) });
  return (event) => {
    if (unrelated.has(event.type) || (event.type === 'finish' && event.cause === 'aborted')) return undefined;
    if (event.type === 'start') {
      startedAt = now();
      total = event.promptTokens;
      cache = event.cachedTokens;
      processed = cache;
      return total > 0 ? body() : undefined;
    }
    const next = event.type === 'prompt-progress' ? Math.min(total, cache + event.done) : total;
    if (next <= processed) return undefined;
    processed = next;
    return body();
  };
}
