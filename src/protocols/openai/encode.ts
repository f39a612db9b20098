import type { FinishReason, GenerationEvent, PromptToken, TokenChoice, TokenLogprob } from '../../core/events.ts';
import type { Generation } from '../../core/fold.ts';
import type { DialectContext } from '../dialect.ts';
import { promptProgress } from '../prompt-progress.ts';
import { timingsBody } from '../timings.ts';

/** What every chunk and every whole reply of one request starts with. `created` is in seconds since 1970. */
export function newEnvelope(object: string, prefix: string, context: DialectContext) {
  const created = Math.floor(context.now() / 1000);
  // Tests of llama.cpp's server expect a `b` in front.
  return { id: context.newId(prefix), object, created, model: context.modelName(), system_fingerprint: 'b_parley' };
}

/** How one of the replies to a request ended. */
export type Ending = Pick<Generation, 'usage' | 'timings'>;

/** The prompt counts once, however many replies it got; consecutive `repliesPerPrompt` endings share one. */
function total(endings: readonly Ending[], repliesPerPrompt: number) {
  const prompts = endings.filter((_, index) => index % repliesPerPrompt === 0);
  return {
    promptTokens: sum(prompts, ({ usage }) => usage.promptTokens),
    cachedTokens: sum(prompts, ({ usage }) => usage.cachedTokens),
    completionTokens: sum(endings, ({ usage }) => usage.completionTokens),
    reasoningTokens: sum(endings, ({ usage }) => usage.reasoningTokens),
  };
}

function sum(endings: readonly Ending[], figure: (ending: Ending) => number | undefined): number {
  return endings.reduce((before, ending) => before + (figure(ending) ?? 0), 0);
}

/** `usage` and `timings` of all replies together. */
export function encodeFigures(endings: readonly Ending[], repliesPerPrompt: number): object {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = total(endings, repliesPerPrompt);
  return {
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    },
    timings: encodeTimings(endings, repliesPerPrompt),
  };
}

function encodeTimings(endings: readonly Ending[], repliesPerPrompt: number): object {
  return timingsBody(total(endings, repliesPerPrompt), {
    initMs: sum(endings, ({ timings }) => timings?.initMs),
    promptMs: sum(endings, ({ timings }) => timings?.promptMs),
    generationMs: sum(endings, ({ timings }) => timings?.generationMs),
    processedTokens: sum(endings, ({ timings }) => timings?.processedTokens),
  });
}

/** The figures during generation; a piece of text counts as a token until the end reports the true number. */
function runningTimings(now: () => number): (event: GenerationEvent) => object {
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
    const processedTokens = promptTokens - cachedTokens;
    return timingsBody(
      { promptTokens, cachedTokens, completionTokens },
      { initMs: 0, promptMs: beganAt - startedAt, generationMs: time - beganAt, processedTokens },
    );
  };
}

/** What the chunks of one reply have in common in both streams of this dialect. */
export interface ChunkShape {
  /** The JSON that every chunk starts with. */
  readonly head: string;
  readonly index: number;
  /** Timings on every chunk instead of the last one only. */
  readonly timingsPerToken: boolean;
  /** Chunks about how far the prompt is processed. */
  readonly reportsProgress: boolean;
  /** The last chunk is that of the usage, and has the final timings. */
  readonly includeUsage: boolean;
  readonly now: () => number;
}

/** What follows the choices of a chunk: the progress of the prompt, timings, and at the end the warnings. */
export function chunkNotes({ timingsPerToken, reportsProgress, includeUsage, now }: ChunkShape) {
  const figures = timingsPerToken ? runningTimings(now) : undefined;
  const progress = reportsProgress ? promptProgress(now) : undefined;
  const warnings: string[] = [];
  return {
    /** For a chunk about the prompt that is sent before the event; mostly nothing. */
    before(event: GenerationEvent): string {
      const body = progress?.(event);
      return body ? `,"prompt_progress":${JSON.stringify(body)}` : '';
    },
    /** Takes an event that has no chunk of its own. */
    take(event: GenerationEvent & { type: 'start' | 'warning' }): void {
      if (event.type === 'warning') warnings.push(event.text);
      else figures?.(event);
    },
    middle: (event: GenerationEvent): string => (figures ? `,"timings":${JSON.stringify(figures(event))}` : ''),
    last(event: GenerationEvent & { type: 'finish' }): string {
      const timings = includeUsage ? '' : `,"timings":${JSON.stringify(encodeTimings([event], 1))}`;
      return warnings.length > 0 ? `${timings},"warnings":${JSON.stringify(warnings)}` : timings;
    },
  };
}

/** An aborted reply is reported as `length`: the dialect has no other word for text that is not complete. */
export const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  aborted: 'length',
  'tool-calls': 'tool_calls',
};

/** `warnings` of a whole reply, each one once. */
export function warningsOf(generations: readonly Generation[]): object {
  const warnings = [...new Set(generations.flatMap(({ warnings }) => warnings))];
  return warnings.length > 0 ? { warnings } : {};
}

/** The end of a choice, with the stop text that ended it in the field that vLLM has for it. */
export function encodeFinish(reason: string, { stopText }: { readonly stopText?: string | undefined }): object {
  return { finish_reason: reason, ...(stopText !== undefined && { stop_reason: stopText }) };
}

/** JSON has no minus infinity, and a null would break typed clients. */
export function finite(logprob: number): number {
  return Math.max(logprob, -9999);
}

export function encodeTokens(tokens: readonly TokenLogprob[]): readonly object[] {
  return tokens.map((token) => ({ ...choice(token), top_logprobs: token.top.map(choice) }));
}

function choice({ text, token, logprob, bytes }: TokenChoice): object {
  return { id: token, token: text, logprob: finite(logprob), bytes };
}

/** The field `prompt_logprobs` of a reply, if it was requested with this number of alternatives. */
export function encodePromptLogprobs(tokens: readonly PromptToken[] = [], count?: number): object {
  return count === undefined ? {} : { prompt_logprobs: tokens.map((token) => promptToken(token, count)) };
}

/** By token number. The token of the prompt is always included; the very first one has no logprob. */
function promptToken({ token, text, logprob, rank, top }: PromptToken, count: number): object | null {
  if (logprob === null) return null;
  const best = top.slice(0, count).map((one, index) => ({ ...one, rank: index + 1 }));
  const entries = [...best, { token, text, logprob, rank }].map((one) => [
    one.token,
    { logprob: finite(one.logprob), rank: one.rank, decoded_token: one.text },
  ]);
  return Object.fromEntries(entries);
}
