import type { AppError } from './errors.ts';
import type { PromptProgress } from './request.ts';
import type { ServerToolStep } from './server-tools.ts';

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'aborted';

export type FinishCause = 'end-token' | 'stop-text' | 'limit' | 'aborted';

export interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Part of the completion, if known. */
  readonly reasoningTokens?: number;
}

export interface Timings {
  /** Before the first decode: tokenizing, cache search. */
  readonly initMs: number;
  readonly promptMs: number;
  readonly generationMs: number;
  /** Prompt tokens that were not in the cache. */
  readonly processedTokens: number;
  readonly draft?: { readonly accepted: number; readonly rejected: number };
}

/** How the conversation was shortened before the reply. */
export interface Compaction {
  /** Messages that a summary replaces. */
  readonly summarised: number;
  /** Tool results that were removed. */
  readonly cleared: number;
  /** The summary, if it was made for this reply; null if it was asked for and failed, and the conversation stayed as it was. */
  readonly summary?: string | null;
  /** Of the generations that made the summary; not part of the usage of the reply. */
  readonly usage?: Usage;
  /** Why the model of `--compactmodel` did not write the summary, as a sentence. */
  readonly fallback?: string;
}

/** For headers and warnings. */
export function compactionText({ summarised, cleared, fallback }: Compaction): string {
  const parts = [
    ...(summarised > 0 ? [`${summarised} messages summarised`] : []),
    ...(cleared > 0 ? [`${cleared} tool results cleared`] : []),
  ];
  return [`The conversation was compacted: ${parts.join(', ')}.`, ...(fallback === undefined ? [] : [fallback])].join(
    ' ',
  );
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

/** A prompt token with its probability, before samplers. */
export interface PromptToken extends Omit<TokenChoice, 'logprob'> {
  /** Null for the first token. */
  readonly logprob: number | null;
  /** 1 is the most likely token. Null for the first token. */
  readonly rank: number | null;
  /** The most likely tokens in its place, best first. */
  readonly top: readonly TokenChoice[];
  /** False for what is added before the prompt: BOS token, memory. */
  readonly inPrompt: boolean;
}

/**
 * Events of a generation. The first is `start`, unless an `error` is the only one; the last is `finish` or `error`. Deltas of
 * a tool call are between its `tool-start` and `tool-end`. `prompt-logprobs` precede the text, in one or more pieces.
 */
export type GenerationEvent =
  | {
      readonly type: 'start';
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly maxTokens: number;
      readonly seed: number;
      /** Prompt tokens that did not fit and were dropped, if the request allows it. */
      readonly droppedTokens?: number;
      /** Native names of fields that the engine does not support. */
      readonly ignored?: readonly string[];
      readonly miss?: CacheMiss;
      readonly origin?: PromptOrigin;
      readonly compaction?: Compaction;
    }
  /** The conversation is being summarised for a client that asked for it. The only event that may precede `start`. */
  | { readonly type: 'compacting' }
  /** Only for requests that ask for it (`reportsProgress`), between `start` and the text. */
  | ({ readonly type: 'prompt-progress' } & PromptProgress)
  | { readonly type: 'prompt-logprobs'; readonly tokens: readonly PromptToken[] }
  | { readonly type: 'reasoning-delta'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'text-delta'; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | { readonly type: 'tool-start'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'tool-delta'; readonly index: number; readonly json: string }
  | { readonly type: 'tool-end'; readonly index: number }
  /** Only in replies to requests with hosted tools. */
  | { readonly type: 'server-tool'; readonly step: ServerToolStep }
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

/** Makes a switch exhaustive: an unhandled type does not compile. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** The start of a reply that never ran. */
export function emptyStart(maxTokens: number, seed: number): GenerationEvent & { type: 'start' } {
  return { type: 'start', promptTokens: 0, cachedTokens: 0, maxTokens, seed };
}

/** The end of a reply that was aborted before it ran. */
export const abortedUnstarted: GenerationEvent & { type: 'finish' } = {
  type: 'finish',
  reason: 'aborted',
  cause: 'aborted',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
};

/** A prompt that differs from the cached text of its chat. */
export interface CacheMiss {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Position of the first token that differs. */
  readonly partedAt: number;
  readonly promptTokens: number;
  readonly reusedTokens: number;
  /** The cached text at that position, and that of the prompt. */
  readonly kept: string;
  readonly wanted: string;
  readonly before: string;
}

/** Which earlier prompt of the same engine a prompt follows, by its tokens. */
export interface PromptOrigin {
  /** The same for prompts of which each continues the one before; never used for others, also not by another process. */
  readonly sequence: number;
  /** The earlier prompt with the longest common beginning, and its reply. */
  readonly previous?: {
    readonly sequence: number;
    /** Tokens at the beginning that are equal. */
    readonly common: number;
    readonly promptTokens: number;
    /** With its reply. */
    readonly tokens: number;
    /**
     * - `continues`: all of it is repeated;
     * - `branches`: most of it is, but not the last message: a retry, or another conversation with the same beginning;
     * - `edits`: a change before its end, after which it goes on as it was;
     * - `quotes`: words of it are repeated;
     * - `other`: at most the beginning is the same.
     */
    readonly relation: 'continues' | 'branches' | 'edits' | 'quotes' | 'other';
  };
}
