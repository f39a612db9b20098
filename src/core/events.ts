import type { CacheMiss } from './cache-report.ts';
import type { AppError } from './errors.ts';

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'aborted';

/** What ended the text: an end-of-generation token, a stop text of the request, the token limit, or somebody's wish. */
export type FinishCause = 'end-token' | 'stop-text' | 'limit' | 'aborted';

export interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Those of the completion that were thinking, where that is known. */
  readonly reasoningTokens?: number;
}

export interface Timings {
  /** From the first look at the prompt to the first decode: tokenizing, cache search. */
  readonly initMs: number;
  readonly promptMs: number;
  readonly generationMs: number;
  /** Prompt tokens that were really computed; the rest came from the cache. */
  readonly processedTokens: number;
  /** How many guessed tokens were right and wrong, where tokens were guessed. */
  readonly draft?: { readonly accepted: number; readonly rejected: number };
}

export interface TokenChoice {
  readonly token: number;
  readonly text: string;
  readonly bytes: readonly number[];
  readonly logprob: number;
}

export interface TokenLogprob extends TokenChoice {
  readonly top: readonly TokenChoice[];
}

/** One token of a prompt, as the model read it, and how likely the model found it by itself, whatever the samplers. */
export interface PromptToken extends Omit<TokenChoice, 'logprob'> {
  /** Null for the very first: nothing stands before it. */
  readonly logprob: number | null;
  /** How many are at least as likely, itself included: 1 is the likeliest. Null for the very first. */
  readonly rank: number | null;
  /** The likeliest in its place, best first. */
  readonly top: readonly TokenChoice[];
  /** False for what was put in front of the prompt: the token that begins a text, the memory. */
  readonly inPrompt: boolean;
}

/**
 * What a generation does, in the order it happens. Exactly one `start` comes first, unless an `error` is all that comes,
 * and exactly one `finish` or `error` comes last; a tool call's deltas lie between its `tool-start` and `tool-end`. A
 * `warning` may come anywhere before the end. The figures of the prompt come before the first of the text, in as many
 * pieces as it was read in.
 */
export type GenerationEvent =
  | {
      readonly type: 'start';
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly maxTokens: number;
      readonly seed: number;
      /** How much of the prompt did not fit and was left out; nothing unless the request allows it. */
      readonly droppedTokens?: number;
      /** What was asked for and the engine cannot do, by the names that the native API has for it. */
      readonly unheeded?: readonly string[];
      /** Where the prompt parted from what was kept of its chat. */
      readonly miss?: CacheMiss;
    }
  | { readonly type: 'prompt-logprobs'; readonly tokens: readonly PromptToken[] }
  | { readonly type: 'reasoning-delta'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'text-delta'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'tool-start'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'tool-delta'; readonly index: number; readonly json: string }
  | { readonly type: 'tool-end'; readonly index: number }
  | { readonly type: 'warning'; readonly code: string; readonly text: string }
  | {
      readonly type: 'finish';
      readonly reason: FinishReason;
      readonly cause: FinishCause;
      readonly stopText?: string;
      readonly usage: Usage;
      readonly timings: Timings;
    }
  | { readonly type: 'error'; readonly error: AppError };

/** For the end of an exhaustive switch: a new event type then fails to compile wherever it is not handled. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** The beginning of a reply of which nothing is known, because nothing was begun. */
export function emptyStart(maxTokens: number, seed: number): GenerationEvent & { type: 'start' } {
  return { type: 'start', promptTokens: 0, cachedTokens: 0, maxTokens, seed };
}

/** The end of a reply that was stopped before it began. */
export const abortedUnstarted: GenerationEvent & { type: 'finish' } = {
  type: 'finish',
  reason: 'aborted',
  cause: 'aborted',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
};
