import type { PlainError } from '../../core/errors.ts';
import type { FinishCause, PromptToken, Timings, TokenLogprob, Usage } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { CacheMiss } from '../../core/text-service.ts';
import type { LoadedModel, LoadOptions } from './load-options.ts';

/** How long a worker whose channel was closed may go on: with a disk cache it writes what it holds. */
export const closingMs = { plain: 2000, writing: 10_000 };

/** From the server to the worker. `id` ties a question to its answer and a generation to its events. */
export type ToWorker =
  | { readonly type: 'load'; readonly options: LoadOptions }
  | { readonly type: 'generate'; readonly id: number; readonly request: GenerationRequest; readonly seed: number }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'cache'; readonly id: number }
  | { readonly type: 'states'; readonly id: number; readonly action: StatesAction }
  | {
      readonly type: 'tokenize';
      readonly id: number;
      readonly text: string;
      readonly addSpecial: boolean;
      readonly parseSpecial: boolean;
    }
  | { readonly type: 'pieces'; readonly id: number; readonly tokens: readonly number[] }
  | {
      readonly type: 'detokenize';
      readonly id: number;
      readonly tokens: readonly number[];
      readonly renderSpecial: boolean;
    };

/** What is to be done with the numbered places for the state of the first sequence. */
export type StatesAction =
  | { readonly type: 'check' | 'clear' }
  | { readonly type: 'save' | 'load'; readonly place: number };

/** From the worker to the server. All pieces of one step of the batch travel in one message: that is what costs. */
export type FromWorker =
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'loaded'; readonly model: LoadedModel }
  /** Without a reason the library knows more than we do: it stands in the last lines of the worker's standard error. */
  | { readonly type: 'load-failed'; readonly reason: string | null }
  /** Something to be known that fails nobody's request. */
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly error: PlainError }
  | { readonly type: 'step'; readonly pieces: readonly Piece[] };

export type Piece =
  | {
      readonly type: 'start';
      readonly id: number;
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly maxTokens: number;
      readonly droppedTokens: number;
      readonly miss?: CacheMiss;
    }
  | { readonly type: 'prompt-progress'; readonly id: number; readonly done: number; readonly total: number }
  | { readonly type: 'prompt-logprobs'; readonly id: number; readonly tokens: readonly PromptToken[] }
  | { readonly type: 'warning'; readonly id: number; readonly code: string; readonly text: string }
  | { readonly type: 'text'; readonly id: number; readonly text: string; readonly logprobs?: readonly TokenLogprob[] }
  | {
      readonly type: 'finish';
      readonly id: number;
      readonly cause: FinishCause;
      readonly stopText?: string;
      readonly endToken?: number;
      readonly usage: Usage;
      readonly timings: Timings;
    }
  | { readonly type: 'error'; readonly id: number; readonly error: PlainError };
