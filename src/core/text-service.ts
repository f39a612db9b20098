import type { CacheReport } from './cache-report.ts';
import type { FinishReason, GenerationEvent, TokenLogprob } from './events.ts';
import type { GenerationRequest, QueuePosition, SharingTraits, Ticket } from './request.ts';
import type { SavedStates } from './saved-states.ts';

/** The special tokens that tell a model where a gap in a text is, as they are spelled. */
export interface FillMarks {
  readonly prefix: string;
  readonly suffix: string;
  readonly middle: string;
  /** In front of the name of a project, and of a file. */
  readonly repository?: string | undefined;
  readonly file?: string | undefined;
}

export interface TextModel {
  /** File name without its ending, as clients show it. */
  readonly name: string;
  readonly path: string;
  readonly contextSize: number;
  readonly trainedContext: number;
  readonly vocabularySize: number;
  /** How texts are cut into tokens, by llama.cpp's numbers: 1 is SentencePiece, 2 byte pairs. */
  readonly vocabularyType: number;
  readonly embeddingLength: number;
  readonly parameters: number;
  readonly sizeBytes: number;
  readonly description: string;
  readonly chatTemplate: string | undefined;
  /** The texts of the tokens that begin and end a text; empty where there is none. */
  readonly specialTokens: { readonly bos: string; readonly eos: string };
  /** Undefined where its file names none. */
  readonly fillMarks?: FillMarks | undefined;
  /** Kinds of media that a loaded projector lets the model take in. */
  readonly inputs: { readonly image: boolean; readonly audio: boolean };
}

export type TextState =
  | { readonly type: 'none' }
  | {
      readonly type: 'loading';
      readonly name: string;
      readonly progress: number;
      /** Nothing is being loaded: it comes when somebody asks for it. */
      readonly asleep?: boolean;
      /** It was lost and does not come back soon: nobody is asked to wait for it. */
      readonly trouble?: {
        readonly reason: string;
        readonly retryAfterSeconds: number;
        /** The whole error message, where the reason alone would not say what is missing: a remote backend. */
        readonly sentence?: string;
      };
    }
  | { readonly type: 'ready'; readonly model: TextModel }
  | { readonly type: 'failed'; readonly name: string; readonly reason: string };

export type AbortOutcome = 'stopped' | 'pending' | 'refused';

/** The figures of the last finished generation and of the queue, for people and clients that watch the speed. */
export interface Performance {
  readonly processMsPerToken: number;
  readonly evalMsPerToken: number;
  /** All of the prompt. */
  readonly promptTokens: number;
  /** Those that were computed; the time per token is theirs. */
  readonly processedTokens: number;
  /** Those that came from the cache. */
  readonly reusedTokens: number;
  readonly completionTokens: number;
  readonly seed: number;
  readonly draftAccepted: number;
  readonly draftRejected: number;
  readonly generations: number;
  readonly stop: 'none' | 'error' | 'limit' | 'end-token' | 'stop-text';
  readonly waiting: number;
  /** How long somebody who came now would wait. */
  readonly estimateSeconds: number;
  readonly idle: boolean;
  readonly uptimeSeconds: number;
  readonly idleSeconds: number;
}

/** A place in the queue for several generations in a row: nobody else comes in between, unless it lets them. */
export interface Reservation {
  /** With `by` the request only says what is asked for, to those who watch; the engine is asked in that way. */
  generate(request: GenerationRequest, by?: GenerateBy): AsyncIterable<GenerationEvent>;
  /** Between two generations: those who wait go first, and the next one begins when its turn has come again. */
  pass(): void;
  /** Others have the engine until the next generation, which waits for its turn; the place is kept. */
  rest(): void;
  /** Aborts when the request is to end, whoever wishes it: its client, or somebody by its key. */
  readonly stopped: AbortSignal;
  release(): void;
}

/** All that a protocol may ask of the text side; what stands behind it (queue, worker, model) is not its business. */
export interface TextService {
  /**
   * Takes the request in, or throws `busy` at once. The events follow when its turn comes; an abort, a lost client or a
   * dead engine end them with a last event as usual.
   */
  generate(request: GenerationRequest, ticket: Ticket): AsyncIterable<GenerationEvent>;
  /** Takes a place, or throws `busy` at once. Whoever reserves must release, however it ends. */
  reserve(ticket: Ticket, traits: SharingTraits): Reservation;
  /** How many such generations could begin now without anybody's waiting for it. */
  room(traits: SharingTraits): number;
  /**
   * Does work on the engine that must not meet a generation: it takes its turn in the queue, or throws `busy` at once. A
   * client that goes away meanwhile ends the wait, and the work is never begun.
   */
  exclusively<Result>(ticket: Ticket, work: () => Promise<Result>): Promise<Result>;
  /** Without a model: no tokens. While it loads: waits for it. */
  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]>;
  detokenize(tokens: readonly number[], options: { readonly renderSpecial: boolean }): Promise<string>;
  /** Each token by itself, special ones included; those that are parts of a character as bytes. */
  pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]>;
  /** The text so far of the request with this key, or without one of the only request or that of the client that asks. */
  check(genkey: string, client?: string): string;
  /** Why the request with this key has ended; null while it has not, undefined unless it goes on without its client. */
  finished(genkey: string): FinishReason | 'error' | null | undefined;
  /** Where the request with this key stands in the queue; undefined unless it waits there. */
  queuePosition(genkey: string): QueuePosition | undefined;
  /**
   * Stops all that run with this key, or where none does all that wait with it. Without a key the running one: that of the client that
   * asks, if it has any here.
   */
  abort(genkey: string, client?: string): AbortOutcome;
  lastLogprobs(genkey: string, client?: string): readonly TokenLogprob[] | undefined;
  state(): TextState;
  /** The context size that the server has, or will have once the model is loaded. */
  contextSize(): number;
  performance(): Performance;
}

/** What an engine tells of a generation besides its events: for people who watch, not for clients. */
export interface PromptProgress {
  readonly done: number;
  readonly total: number;
}

export interface GenerationSink {
  /** Called for each event in order; `finish` or `error` is the last one. */
  event(event: GenerationEvent): void;
  promptProgress?(progress: PromptProgress): void;
}

export interface RunningGeneration {
  /** The sink still gets its last event, with what was generated until then. */
  abort(): void;
  /** Stops the flow of events while the client does not read. Engines whose replies are bounded by themselves leave it out. */
  pause?(): void;
  resume?(): void;
}

/** Another way than a prompt to have an engine write something; what is asked for stands in the closure. */
export type GenerateBy = (engine: TextEngine, seed: number, sink: GenerationSink) => RunningGeneration;

export interface TokenizeOptions {
  /** Puts the token in front that begins a text, where the model has one. */
  readonly addSpecial: boolean;
  /** Special tokens that are spelled in the text are read as such, unless this says otherwise. */
  readonly parseSpecial?: boolean;
}

/** What a token stands for: its text, or its bytes where they are only a part of a character. */
export type TokenPiece = string | readonly number[];

/** A text model behind a narrow door. It does not queue: whoever calls it has decided that this request runs now. */
export interface TextEngine {
  state(): TextState;
  /** The context size that is or will be allocated. */
  contextSize(): number;
  /** Resolves when the state is no longer `loading`, or is in trouble. */
  settled(): Promise<void>;
  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration;
  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]>;
  /** What it keeps of earlier prompts; engines without such a cache leave it out. */
  cacheReport?(): Promise<CacheReport>;
  detokenize(tokens: readonly number[], options: { readonly renderSpecial: boolean }): Promise<string>;
  /** Each token by itself, special ones included. */
  pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]>;
  /** There while a model is ready whose state can be put aside. */
  readonly states?: SavedStates | undefined;
}
