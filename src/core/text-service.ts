import { unlessAborted } from './abort.ts';
import type { EngineSource } from './engine-source.ts';
import { AppError } from './errors.ts';
import type { CacheMiss, FinishReason, GenerationEvent, TokenLogprob } from './events.ts';
import type { LoraScales } from './lora.ts';
import type { GenerationRequest, PromptProgress, QueuePosition, SharingTraits } from './request.ts';
import type { RequestContext } from './request-context.ts';
import type { SentFields } from './sent-fields.ts';

/** Special tokens for fill-in-the-middle, as texts. */
export interface FillMarks {
  readonly prefix: string;
  readonly suffix: string;
  readonly middle: string;
  /** In front of the name of a project, and of a file. */
  readonly repository?: string | undefined;
  readonly file?: string | undefined;
}

export interface TextModel {
  /** File name without extension. */
  readonly name: string;
  readonly path: string;
  readonly contextSize: number;
  readonly trainedContext: number;
  readonly vocabularySize: number;
  /** By llama.cpp's numbers: 1 is SentencePiece, 2 byte pairs. */
  readonly vocabularyType: number;
  readonly embeddingLength: number;
  readonly parameters: number;
  readonly sizeBytes: number;
  readonly description: string;
  readonly chatTemplate: string | undefined;
  /** Texts of the BOS and EOS tokens; empty if the model has none. */
  readonly specialTokens: { readonly bos: string; readonly eos: string };
  readonly fillMarks?: FillMarks | undefined;
  /** Media that the loaded projector accepts. */
  readonly inputs: { readonly image: boolean; readonly audio: boolean };
  /** All layers, the output layer included, and how many of them are on GPUs. */
  readonly layers?: { readonly all: number; readonly onGpus: number } | undefined;
}

export type TextState =
  /** `byName`: requests can name one that this server has (`--routermode`). */
  | { readonly type: 'none'; readonly byName?: boolean }
  | {
      readonly type: 'loading';
      readonly name: string;
      readonly progress: number;
      /** Not loading: the next request loads it. */
      readonly asleep?: boolean;
      /** It was lost and does not return soon, so that requests must not wait. */
      readonly trouble?: {
        readonly reason: string;
        readonly retryAfterSeconds: number;
        /** The whole error message of a remote backend, instead of the reason. */
        readonly sentence?: string;
      };
    }
  | { readonly type: 'ready'; readonly model: TextModel }
  | { readonly type: 'failed'; readonly name: string; readonly reason: string };

export type AbortOutcome = 'stopped' | 'pending' | 'refused';

/** Where the time of an engine's steps went so far, in milliseconds: computing their batches, sampling, and all of it. */
export type StepTimes = Readonly<Record<'steps' | 'rows' | 'computeMs' | 'sampleMs' | 'totalMs', number>>;

/** How many threads compute now, which an engine may change on a busy machine. */
export interface ThreadUse {
  readonly decode: number;
  readonly prefill: number;
  /** How often one of them has changed. */
  readonly changes: number;
}

/** Figures of the last finished generation and of the queue. */
export interface Performance {
  readonly processMsPerToken: number;
  readonly evalMsPerToken: number;
  readonly promptTokens: number;
  /** Prompt tokens that were computed; the time per token is theirs. */
  readonly processedTokens: number;
  readonly reusedTokens: number;
  readonly completionTokens: number;
  readonly seed: number;
  readonly draftAccepted: number;
  readonly draftRejected: number;
  readonly generations: number;
  readonly stop: 'none' | 'error' | 'limit' | 'end-token' | 'stop-text';
  readonly waiting: number;
  /** Expected wait of a new request. */
  readonly estimateSeconds: number;
  readonly idle: boolean;
  readonly uptimeSeconds: number;
  readonly idleSeconds: number;
  /** Missing in engines that do not tell it. */
  readonly steps?: StepTimes | undefined;
  /** Missing without a loaded model, and in engines that do not tell it. */
  readonly threads?: ThreadUse | undefined;
  /** Snapshots in memory; missing where there are none. */
  readonly snapshots?: SnapshotFigures | undefined;
  /** Missing where sequences share no cells. */
  readonly pool?: PoolFigures | undefined;
}

/** A queue slot for several generations in a row, without other requests in between. */
export interface Reservation {
  /** With `by` the engine is called by that function, and the request only describes the generation to observers. */
  generate(request: GenerationRequest, by?: GenerateBy): AsyncIterable<GenerationEvent>;
  /** Between two generations: lets waiting requests go first. */
  pass(): void;
  /** Frees the engine until the next generation, which waits for its turn; the slot is kept. */
  rest(): void;
  /** Aborts when the client disconnects, or when the request is aborted by its key. */
  readonly stopped: AbortSignal;
  release(): void;
}

/** What protocols use of a text model; queue, registry and engine are behind it. */
export interface TextService extends Pick<TextEngine, 'tokenize' | 'detokenize' | 'pieces' | 'state' | 'contextSize'> {
  /** Its LoRA adapters. */
  readonly adapters?: LoraScales;
  /** Throws `busy` at once if the queue is full. Aborts, disconnects and lost engines end the events with a last event. */
  generate(request: GenerationRequest, context: RequestContext): AsyncIterable<GenerationEvent>;
  /** Throws `busy` at once if the queue is full. The caller must release it. */
  reserve(context: RequestContext, traits: SharingTraits): Reservation;
  /** How many such generations could start now without waiting. */
  room(traits: SharingTraits): number;
  /**
   * Runs work while no generation runs: it takes its turn in the queue, or throws `busy` at once. If the client disconnects
   * before its turn, the work never starts.
   */
  exclusively<Result>(context: RequestContext, work: () => Promise<Result>): Promise<Result>;
  /** The text so far of the request with this key; without a key, of the only request or that of this client. */
  check(genkey: string, client?: string): string;
  /** Why a kept request has ended; null while it runs, undefined for an unknown key. */
  finished(genkey: string, client?: string): FinishReason | 'error' | null | undefined;
  /** Queue position of the request with this key, while it waits. */
  queuePosition(genkey: string, client?: string): QueuePosition | undefined;
  /** Aborts all running requests with this key, or else all waiting ones; without a key, the running one, of this client first. */
  abort(genkey: string, client?: string): AbortOutcome;
  lastLogprobs(genkey: string, client?: string): readonly TokenLogprob[] | undefined;
  performance(): Performance;
  /** Empty without a loaded engine, and in engines without a prompt cache. */
  cacheReport(): Promise<CacheReport>;
  /** Undefined while no model is loaded whose state could be saved. */
  states(): SavedStates | undefined;
  /** Whether the model is in memory; without this it is once it is ready. An unloaded one still looks ready. */
  loaded?(): boolean;
  /** How long the model stays loaded after its last request; 0 unloads it, infinity never. */
  keepFor?(milliseconds: number): void;
  /** When the model will be unloaded, in milliseconds since 1970; infinity or nothing means never. */
  expiresAt?(): number;
}

export interface GenerationSink {
  /** Called for each event in order; `finish` or `error` is the last one. */
  event(event: GenerationEvent): void;
  promptProgress?(progress: PromptProgress): void;
  /** For engines that know the length of a prompt only while it is processed: whether their `start` has to tell it. */
  readonly reportsProgress?: boolean | undefined;
  /** The W3C trace context, for engines on other servers. */
  readonly traceparent?: string | undefined;
  /** For backends to which some fields are passed on as they are. */
  readonly sent?: SentFields | undefined;
}

export interface RunningGeneration {
  /** The sink still gets its last event, with what was generated until then. */
  abort(): void;
  /** Back-pressure: stops the events while the client does not read. Missing in engines with bounded replies. */
  pause?(): void;
  resume?(): void;
  /**
   * Aborts it if at least so many tokens of its prompt are left, and if those that were computed stay in the cache: begun again, it
   * continues there. Otherwise nothing happens. Missing in engines without a prompt cache.
   */
  interrupt?(minTokens: number): void;
  /**
   * Stops between two steps and gives its place in the engine to others, until `proceed`: then it goes on where it was. One that cannot
   * do that is aborted. Missing in engines that hold nothing.
   */
  hold?(): void;
  proceed?(): void;
}

/** Another way than a prompt to make an engine generate. */
export type GenerateBy = (engine: TextEngine, seed: number, sink: GenerationSink) => RunningGeneration;

export interface TokenizeOptions {
  /** Adds the BOS token, if the model has one. */
  readonly addSpecial: boolean;
  /** Parses special tokens that are spelled in the text; true by default. */
  readonly parseSpecial?: boolean;
}

/** The text of a token, or its bytes if they are only part of a character. */
export type TokenPiece = string | readonly number[];

/** A text model without a queue: every request runs at once. */
export interface TextEngine {
  state(): TextState;
  /** The context size that is or will be allocated. */
  contextSize(): number;
  /** Resolves when the state is no longer `loading`, or is in trouble. */
  settled(): Promise<void>;
  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration;
  /** Waits while the model loads. Without a model: no tokens. */
  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]>;
  /** How many tokens of the prompt are not in the cache; undefined if that cannot be said now. Missing in engines that do not tell it. */
  uncachedTokens?(request: GenerationRequest): Promise<number | undefined>;
  /** Missing in engines without a prompt cache. */
  cacheReport?(): Promise<CacheReport>;
  /** Missing in engines that do not tell it. */
  steps?(): StepTimes;
  threads?(): ThreadUse | undefined;
  /** Snapshots in memory. */
  snapshots?(): SnapshotFigures | undefined;
  cellPool?(): PoolFigures | undefined;
  detokenize(tokens: readonly number[], options: { readonly renderSpecial: boolean }): Promise<string>;
  /** Each token by itself, special ones included. */
  pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]>;
  /** Set while a model is loaded whose state can be saved. */
  readonly states?: SavedStates | undefined;
}

/** Slots in memory for the computed state of chats. Saving and loading must not overlap with a generation. */
export interface SavedStates {
  readonly count: number;
  check(): Promise<StatesReport>;
  /** Saves the state that was used last; null if there is none. */
  save(slot: number): Promise<StateFigures | null>;
  /** Null if the slot is empty. */
  load(slot: number): Promise<StateFigures | null>;
  clear(): Promise<void>;
}

export interface StateFigures {
  readonly tokens: number;
  readonly bytes: number;
}

export interface StatesReport {
  readonly slots: readonly StateFigures[];
  /** What `save` would save now. */
  readonly current: StateFigures;
}

/** State of the prompt cache, and recent misses. */
export interface CacheReport {
  readonly slots: readonly SlotFigures[];
  /** Only where the slots share their cells. */
  readonly pool?: PoolFigures;
  readonly memory: SnapshotFigures | null;
  readonly disk: SnapshotFigures | null;
  /** The newest last. */
  readonly misses: readonly CacheMiss[];
}

interface SlotFigures {
  readonly tokens: number;
  readonly busy: boolean;
  /** Only for models whose memory cannot be cut at any token. */
  readonly checkpoints?: { readonly count: number; readonly bytes: number };
}

/** The cells that sequences share: those in use, all of them, and how many prompts wait for some. */
export type PoolFigures = Readonly<Record<'cells' | 'capacity' | 'waiting', number>>;

export interface SnapshotFigures {
  readonly snapshots: number;
  readonly bytes: number;
  /** The most that they may take now. */
  readonly limitBytes?: number;
  readonly health?: StoreHealth;
}

/** Health of the disk cache, which is shared with other models and servers. Its failures affect no reply. */
export interface StoreHealth {
  /** Bytes of snapshots of other models and settings. */
  readonly otherBytes: number;
  readonly failures: number;
  readonly lastFailure: string | null;
}

/** For engines without a cache, or that are not loaded. */
export const emptyCacheReport: CacheReport = { slots: [], memory: null, disk: null, misses: [] };

/**
 * Provides the engine of a text model. Its state differs from that of other engines: an unloaded model is reported as ready,
 * because the next request loads it.
 */
export interface TextSource
  extends Pick<EngineSource<TextEngine>, 'use' | 'expect' | 'peek' | 'keepFor' | 'expiresAt'>,
    Pick<TextEngine, 'state' | 'contextSize'> {}

export function fixedTextSource(engine: TextEngine): TextSource {
  return {
    use: async (signal) => {
      await unlessAborted(engine.settled(), signal);
      return { engine, release: () => undefined };
    },
    peek: () => engine,
    state: () => engine.state(),
    contextSize: () => engine.contextSize(),
  };
}

/** Why there is no model; undefined while one is loaded or loading. */
export function modelError(state: TextState): AppError | undefined {
  if (state.type === 'none') return textModelMissing(state.byName);
  if (state.type === 'failed') return new AppError('model-load-failed', { model: state.name, reason: state.reason });
  if (state.type === 'loading' && state.trouble) {
    const { sentence, reason, retryAfterSeconds } = state.trouble;
    if (sentence !== undefined) return new AppError('remote-down', { sentence, retryAfterSeconds });
    return new AppError('engine-down', { capability: 'text', reason, retryAfterSeconds });
  }
  return undefined;
}

export function textModelMissing(byName = false): AppError {
  return new AppError('model-missing', { capability: 'text', flag: '--model FILE', byName });
}

/** For endpoints that count tokens, where 0 would be wrong. */
export function refuseWithoutModel(state: TextState): void {
  const error = modelError(state);
  if (error) throw error;
}
