import type { PlainError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest, PromptProgress } from '../../core/request.ts';
import type { PoolFigures, SnapshotFigures, StepTimes, ThreadUse } from '../../core/text-service.ts';
import type { LoadMessage } from '../host/engine-process.ts';
import type { LoadedModel, LoadOptions } from './load-options.ts';

/** How long a worker may take to end after its channel was closed: with a disk cache it writes its snapshots. */
export const closingMs = { plain: 2000, writing: 10_000 };

/** From the server to the worker. `id` connects a call with its result, and a generation with its events. */
export type ToWorker =
  | { readonly type: 'load'; readonly options: LoadOptions }
  | ({ readonly id: number } & (GenerationMessage | Call));

/** See `RunningGeneration`. */
type GenerationMessage =
  | { readonly type: 'generate'; readonly request: GenerationRequest; readonly seed: number }
  | { readonly type: 'interrupt'; readonly minTokens: number }
  | { readonly type: 'abort' | 'hold' | 'proceed' };

/** Answered or refused. */
export type Call =
  /** How many tokens of its prompt are not in the cache. */
  | { readonly type: 'uncached'; readonly request: GenerationRequest }
  | { readonly type: 'cache' | 'gpus' }
  | { readonly type: 'states'; readonly action: StatesAction }
  /** Frees memory of snapshots. */
  | { readonly type: 'release'; readonly bytes: number }
  | { readonly type: 'tokenize'; readonly text: string; readonly addSpecial: boolean; readonly parseSpecial: boolean }
  | { readonly type: 'pieces'; readonly tokens: readonly number[] }
  | { readonly type: 'detokenize'; readonly tokens: readonly number[]; readonly renderSpecial: boolean };

/** An operation on the numbered saved states. */
export type StatesAction =
  | { readonly type: 'check' | 'clear' }
  | { readonly type: 'save' | 'load'; readonly index: number };

export type FromWorker = LoadMessage<LoadedModel> | TextMessage;

/** From the worker to the server. All events of a step are in one message, because each message costs time. */
export type TextMessage =
  /** Sent before the weights are read, because loading them may crash the process. */
  | { readonly type: 'placed'; readonly gpuLayers: number }
  /** Sent after a change; `changes` counts those since the last message. */
  | ({ readonly type: 'threads' } & ThreadUse)
  /** The snapshots in memory after a change. */
  | { readonly type: 'snapshots'; readonly figures: SnapshotFigures }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly error: PlainError }
  | { readonly type: 'step'; readonly pieces: readonly Piece[] }
  /** Times of the steps since the last such message, and the pool at this moment; about once a second. */
  | { readonly type: 'step-times'; readonly times: StepTimes; readonly pool?: PoolFigures };

/** An event of a generation, with the generation's id and errors as plain data. */
export type Piece = { readonly id: number } & (
  | Extract<GenerationEvent, { readonly type: 'start' | 'prompt-logprobs' | 'text-delta' | 'warning' | 'finish' }>
  | ({ readonly type: 'prompt-progress' } & PromptProgress)
  | { readonly type: 'error'; readonly error: PlainError }
);
