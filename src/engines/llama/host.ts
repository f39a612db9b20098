import type { CacheReport } from '../../core/cache-report.ts';
import { AppError, reviveError } from '../../core/errors.ts';
import type { FinishReason, GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { SavedStates } from '../../core/saved-states.ts';
import type {
  GenerationSink,
  RunningGeneration,
  TextEngine,
  TokenizeOptions,
  TokenPiece,
} from '../../core/text-engine.ts';
import type { TextModel, TextState } from '../../core/text-service.ts';
import { backoffMs } from '../host/backoff.ts';
import type { Child, ChildExit, Spawn } from '../host/child.ts';
import { expectedContextSize } from './context-size.ts';
import type { LoadedModel, LoadOptions } from './load-options.ts';
import { loadReason } from './load-reason.ts';
import { closingMs, type FromWorker, type Piece, type StatesAction, type ToWorker } from './messages.ts';

export interface LlamaHostParts {
  readonly spawn: Spawn;
  readonly workerEntry: string;
  readonly delay: (milliseconds: number, action: () => void) => void;
  readonly observer?: LlamaObserver;
}

export interface LlamaObserver {
  /** A worker begins to load the model, for the first time or again. */
  starting?(): void;
  progress?(fraction: number): void;
  loaded?(model: LoadedModel): void;
  failed?(reason: string): void;
  /** The worker is gone and will be started again. */
  lost?(exit: ChildExit): void;
  /** Something to be known that fails nobody's request, as a sentence. */
  note?(text: string): void;
  line?(line: string): void;
}

interface Question {
  resolve(value: never): void;
  reject(error: AppError): void;
}

interface Generating {
  readonly sink: GenerationSink;
  readonly seed: number;
}

const maximumStarts = 5;
/** More CPU builds than any package has: whoever dies of illegal instructions this often has another illness. */
const maximumVariants = 24;

/**
 * The text engine as the server sees it: a worker process with one model. When the worker dies, whoever was served by it
 * gets an error, the model is loaded again, and whoever asks in the meantime waits (see `settled`).
 */
export class LlamaHost implements TextEngine {
  #state: TextState;
  #child: Child<ToWorker> | undefined;
  #failures = 0;
  #skipCpuVariants = 0;
  #stopped = false;
  #loadedOnce = false;
  #loadFailure: string | undefined;
  #nextId = 1;
  /** What the file promises, until the worker tells what it really made. */
  #contextSize: number;
  #whenSettled: (() => void)[] = [];
  readonly #questions = new Map<number, Question>();
  readonly #generations = new Map<number, Generating>();

  constructor(
    private readonly options: LoadOptions,
    private readonly parts: LlamaHostParts,
  ) {
    this.#state = { type: 'loading', name: options.name, progress: 0 };
    this.#contextSize = expectedContextSize(options);
  }

  start(): void {
    this.#state = { type: 'loading', name: this.options.name, progress: 0 };
    this.parts.observer?.starting?.();
    const child = this.parts.spawn<ToWorker, FromWorker>(this.parts.workerEntry, {
      message: (message) => this.#receive(message),
      exit: (exit) => this.#exited(exit),
      ...(this.parts.observer?.line ? { line: this.parts.observer.line } : {}),
    });
    this.#child = child;
    child.send({ type: 'load', options: { ...this.options, skipCpuVariants: this.#skipCpuVariants } });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#child?.stop(this.options.diskCache ? closingMs.writing : closingMs.plain);
  }

  /** The worker's process, for those who watch or test it. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  state(): TextState {
    return this.#state;
  }

  contextSize(): number {
    return this.#contextSize;
  }

  settled(): Promise<void> {
    if (this.#state.type !== 'loading') return Promise.resolve();
    return new Promise((resolve) => this.#whenSettled.push(resolve));
  }

  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    const id = this.#nextId++;
    this.#generations.set(id, { sink, seed });
    this.#send({ type: 'generate', id, request, seed });
    return { abort: () => this.#generations.has(id) && this.#send({ type: 'abort', id }) };
  }

  tokenize(text: string, { addSpecial, parseSpecial = true }: TokenizeOptions): Promise<readonly number[]> {
    return this.#ask((id) => ({ type: 'tokenize', id, text, addSpecial, parseSpecial }));
  }

  pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]> {
    return this.#ask((id) => ({ type: 'pieces', id, tokens }));
  }

  detokenize(tokens: readonly number[], { renderSpecial }: { readonly renderSpecial: boolean }): Promise<string> {
    return this.#ask((id) => ({ type: 'detokenize', id, tokens, renderSpecial }));
  }

  cacheReport(): Promise<CacheReport> {
    return this.#ask((id) => ({ type: 'cache', id }));
  }

  get states(): SavedStates | undefined {
    if (this.#state.type !== 'ready') return undefined;
    const ask = <Answer>(action: StatesAction) => this.#ask<Answer>((id) => ({ type: 'states', id, action }));
    return {
      count: this.options.statePlaces,
      check: () => ask({ type: 'check' }),
      save: (place) => ask({ type: 'save', place }),
      load: (place) => ask({ type: 'load', place }),
      clear: () => ask({ type: 'clear' }),
    };
  }

  #ask<Answer>(question: (id: number) => ToWorker): Promise<Answer> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
      this.#send(question(id));
    });
  }

  #send(message: ToWorker): void {
    this.#child?.send(message);
  }

  #receive(message: FromWorker): void {
    switch (message.type) {
      case 'step':
        for (const piece of message.pieces) this.#piece(piece);
        return;
      case 'progress':
        this.#state = { type: 'loading', name: this.options.name, progress: message.fraction };
        this.parts.observer?.progress?.(message.fraction);
        return;
      case 'loaded':
        this.#loadedOnce = true;
        this.#contextSize = message.model.contextSize;
        this.parts.observer?.loaded?.(message.model);
        this.#settle({ type: 'ready', model: textModel(this.options, message.model) });
        return;
      case 'load-failed':
        // Its standard error may still be on the way: the exit, which comes after it, settles the matter.
        this.#loadFailure = message.reason ?? undefined;
        this.#failures = maximumStarts;
        return;
      case 'note':
        this.parts.observer?.note?.(message.text);
        return;
      case 'answer':
        this.#questions.get(message.id)?.resolve(message.value as never);
        this.#questions.delete(message.id);
        return;
      case 'refused':
        this.#questions.get(message.id)?.reject(reviveError(message.error));
        this.#questions.delete(message.id);
    }
  }

  #piece(piece: Piece): void {
    const generating = this.#generations.get(piece.id);
    if (!generating) return;
    if (piece.type === 'prompt-progress') {
      generating.sink.promptProgress?.(piece);
      return;
    }
    if (piece.type === 'finish' || piece.type === 'error') {
      this.#generations.delete(piece.id);
      this.#failures = 0;
    }
    generating.sink.event(toEvent(piece, generating.seed));
  }

  #exited(exit: ChildExit): void {
    this.#child = undefined;
    const lost = new AppError('engine-lost', { capability: 'text' });
    for (const { sink } of this.#generations.values()) sink.event({ type: 'error', error: lost });
    this.#generations.clear();
    for (const { reject } of this.#questions.values()) reject(lost);
    this.#questions.clear();
    if (this.#stopped) return;
    const loading = this.#state.type === 'loading';
    const wrongVariant = exit.signal === 'SIGILL' && this.#skipCpuVariants < maximumVariants;
    if (wrongVariant) this.#skipCpuVariants += 1;
    else this.#failures += 1;
    if (this.#failures > maximumStarts || (loading && !this.#loadedOnce && !wrongVariant)) {
      const reason = this.#loadFailure ?? loadReason(exit.lastLines, howItDied(exit));
      this.#settle({ type: 'failed', name: this.options.name, reason });
      this.parts.observer?.failed?.(reason);
      return;
    }
    this.#state = { type: 'loading', name: this.options.name, progress: 0 };
    this.parts.observer?.lost?.(exit);
    this.parts.delay(backoffMs(this.#failures), () => {
      if (!this.#stopped) this.start();
    });
  }

  #settle(state: TextState): void {
    this.#state = state;
    const waiting = this.#whenSettled;
    this.#whenSettled = [];
    for (const resolve of waiting) resolve();
  }
}

function toEvent(piece: Exclude<Piece, { type: 'prompt-progress' }>, seed: number): GenerationEvent {
  switch (piece.type) {
    case 'text':
      return piece.logprobs
        ? { type: 'text-delta', text: piece.text, logprobs: piece.logprobs }
        : { type: 'text-delta', text: piece.text };
    case 'start': {
      const { id: _, ...start } = piece;
      return { ...start, seed };
    }
    case 'warning':
      return { type: 'warning', code: piece.code, text: piece.text };
    case 'finish': {
      const { id: _, ...finish } = piece;
      return { ...finish, reason: reasons[piece.cause] };
    }
    case 'error':
      return { type: 'error', error: reviveError(piece.error) };
  }
}

const reasons: Record<(Piece & { type: 'finish' })['cause'], FinishReason> = {
  'end-token': 'stop',
  'stop-text': 'stop',
  limit: 'length',
  aborted: 'aborted',
};

function textModel(options: LoadOptions, loaded: LoadedModel): TextModel {
  const { contextSize, trainedContext, vocabularySize, parameters, sizeBytes, description, chatTemplate } = loaded;
  return {
    name: options.name,
    path: options.model,
    contextSize,
    trainedContext,
    vocabularySize,
    parameters,
    sizeBytes,
    description,
    chatTemplate: chatTemplate ?? undefined,
    vocabularyType: loaded.vocabularyType,
    embeddingLength: loaded.embeddingLength,
    specialTokens: loaded.specialTokens,
    inputs: loaded.inputs,
  };
}

function howItDied({ code, signal }: ChildExit): string {
  return signal ? `the engine process died of ${signal}` : `the engine process ended with code ${code}`;
}
