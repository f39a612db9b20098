import type { CacheReport } from './cache-report.ts';
import type { GenerationEvent } from './events.ts';
import type { GenerationRequest } from './request.ts';
import type { SavedStates } from './saved-states.ts';
import type { TextState } from './text-service.ts';

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
