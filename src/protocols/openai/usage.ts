import type { GenerationEvent, Timings, Usage } from '../../core/events.ts';
import { timingsBody } from '../timings.ts';

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

export function encodeTimings(endings: readonly Ending[], repliesPerPrompt: number): object {
  const sum = (figure: (timings: Timings) => number): number =>
    endings.reduce((before, { timings }) => before + (timings ? figure(timings) : 0), 0);
  return timingsBody(total(endings, repliesPerPrompt), {
    initMs: sum(({ initMs }) => initMs),
    promptMs: sum(({ promptMs }) => promptMs),
    generationMs: sum(({ generationMs }) => generationMs),
    processedTokens: sum(({ processedTokens }) => processedTokens),
  });
}

/** The figures while the reply is being made; a piece of text counts as a token until the end tells the true number. */
export function runningTimings(now: () => number): (event: GenerationEvent) => object {
  let startedAt = now();
  let firstAt: number | undefined;
  let promptTokens = 0;
  let cachedTokens = 0;
  let completionTokens = 0;
  return (event) => {
    const time = now();
    if (event.type === 'start') {
      startedAt = time;
      ({ promptTokens, cachedTokens } = event);
    } else {
      firstAt ??= time;
      completionTokens += 1;
    }
    const beganAt = firstAt ?? time;
    return timingsBody(
      { promptTokens, cachedTokens, completionTokens },
      {
        initMs: 0,
        promptMs: beganAt - startedAt,
        generationMs: time - beganAt,
        processedTokens: promptTokens - cachedTokens,
      },
    );
  };
}
