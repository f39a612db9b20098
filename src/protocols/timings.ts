import type { Timings, Usage } from '../core/events.ts';

/** The figures from which clients of llama.cpp's server show the speed, in its own form and in OpenAI's. */
export function timingsBody(usage: Usage, timings: Timings): object {
  const { processedTokens: promptTokens, promptMs, generationMs } = timings;
  const { completionTokens } = usage;
  return {
    cache_n: usage.cachedTokens,
    prompt_n: promptTokens,
    prompt_ms: promptMs,
    prompt_per_token_ms: ratio(promptMs, promptTokens),
    prompt_per_second: ratio(promptTokens * 1000, promptMs),
    predicted_n: completionTokens,
    predicted_ms: generationMs,
    predicted_per_token_ms: ratio(generationMs, completionTokens),
    predicted_per_second: ratio(completionTokens * 1000, generationMs),
  };
}

function ratio(amount: number, count: number): number {
  return count > 0 ? amount / count : 0;
}
