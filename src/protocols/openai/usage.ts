import type { GenerationEvent, Timings, Usage } from '../../core/events.ts';

/** How one of the replies to a request ended. */
export interface Ending {
  readonly usage: Usage;
  readonly timings: Timings | undefined;
}

export const unfinished: Ending = {
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  timings: undefined,
};

/** The prompt counts once, however many replies it got; `repliesPerPrompt` says which endings share one. */
function total(endings: readonly Ending[], repliesPerPrompt: number): Usage {
  const prompts = endings.filter((_, index) => index % repliesPerPrompt === 0);
  const sum = (list: readonly Ending[], figure: (usage: Usage) => number): number =>
    list.reduce((before, { usage }) => before + figure(usage), 0);
  return {
    promptTokens: sum(prompts, ({ promptTokens }) => promptTokens),
    cachedTokens: sum(prompts, ({ cachedTokens }) => cachedTokens),
    completionTokens: sum(endings, ({ completionTokens }) => completionTokens),
    reasoningTokens: sum(endings, ({ reasoningTokens = 0 }) => reasoningTokens),
  };
}

export function encodeUsage(endings: readonly Ending[], repliesPerPrompt: number): object {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = total(endings, repliesPerPrompt);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

/** The figures from which clients of llama.cpp's server show the speed. */
export function encodeTimings(endings: readonly Ending[], repliesPerPrompt: number): object {
  const { cachedTokens, completionTokens } = total(endings, repliesPerPrompt);
  const sum = (figure: (timings: Timings) => number): number =>
    endings.reduce((before, { timings }) => before + (timings ? figure(timings) : 0), 0);
  return timingsObject({
    cached: cachedTokens,
    processed: sum(({ processedTokens }) => processedTokens),
    promptMs: sum(({ promptMs }) => promptMs),
    predicted: completionTokens,
    predictedMs: sum(({ generationMs }) => generationMs),
  });
}

interface Figures {
  readonly cached: number;
  readonly processed: number;
  readonly promptMs: number;
  readonly predicted: number;
  readonly predictedMs: number;
}

function timingsObject({ cached, processed, promptMs, predicted, predictedMs }: Figures): object {
  return {
    cache_n: cached,
    prompt_n: processed,
    prompt_ms: promptMs,
    prompt_per_token_ms: ratio(promptMs, processed),
    prompt_per_second: ratio(processed * 1000, promptMs),
    predicted_n: predicted,
    predicted_ms: predictedMs,
    predicted_per_token_ms: ratio(predictedMs, predicted),
    predicted_per_second: ratio(predicted * 1000, predictedMs),
  };
}

function ratio(value: number, by: number): number {
  return by > 0 ? value / by : 0;
}

/** The figures while the reply is being made; a piece of text counts as a token until the end tells the true number. */
export function runningTimings(now: () => number): (event: GenerationEvent) => object {
  let startedAt = now();
  let firstAt: number | undefined;
  let cached = 0;
  let processed = 0;
  let predicted = 0;
  return (event) => {
    const time = now();
    if (event.type === 'start') {
      startedAt = time;
      cached = event.cachedTokens;
      processed = event.promptTokens - event.cachedTokens;
    } else {
      firstAt ??= time;
      predicted += 1;
    }
    const promptMs = (firstAt ?? time) - startedAt;
    return timingsObject({ cached, processed, promptMs, predicted, predictedMs: time - (firstAt ?? time) });
  };
}
