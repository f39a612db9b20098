import { reviveError } from '../../core/errors.ts';
import type { FinishReason, GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import {
  type CacheReport,
  emptyCacheReport,
  type GenerationSink,
  type RunningGeneration,
  type SavedStates,
  type TextEngine,
  type TextModel,
  type TextState,
  type TokenizeOptions,
  type TokenPiece,
} from '../../core/text-service.ts';
import type { ChildExit, Spawn } from '../host/child.ts';
import { type EngineObserver, EngineProcess, type StartTimer } from '../host/engine-process.ts';
import { howItDied } from '../host/engine-state.ts';
import { fingerprint } from '../host/in-flight.ts';
import { failedForGood, fallBackNote, gpuFailure, loadReason, nextGpuBuild } from './gpu-builds.ts';
import { expectedContextSize, type GpuBuild, type LoadedModel, type LoadOptions } from './load-options.ts';
import { closingMs, type FromWorker, type Piece, type StatesAction, type ToWorker } from './messages.ts';

export interface LlamaHostParts {
  readonly spawn: Spawn;
  readonly workerEntry: string;
  readonly startTimer: StartTimer;
  /** This model was loaded before: when it cannot be loaded now, it is tried again. */
  readonly proven?: boolean;
  /** What there is to compute with. */
  readonly gpuBuilds?: readonly GpuBuild[];
  readonly observer?: LlamaObserver;
}

export interface LlamaObserver extends EngineObserver {
  progress?(fraction: number): void;
  loaded?(model: LoadedModel): void;
  /** Something to be known that fails nobody's request, as a sentence. */
  note?(text: string): void;
}

interface Generating {
  readonly sink: GenerationSink;
  readonly seed: number;
}

/** More CPU builds than any package has: whoever dies of illegal instructions this often has another illness. */
const maximumVariants = 24;

/**
 * The text engine as the server sees it: a worker process with one model, and what is said to it. How the process lives, dies
 * and comes back is the business of `EngineProcess`.
 */
export class LlamaHost implements TextEngine {
  readonly #process: EngineProcess<ToWorker, FromWorker>;
  readonly #generations = new Map<number, Generating>();
  #model: TextModel | undefined;
  #skipCpuVariants = 0;
  /** Those that died of their graphics card. */
  readonly #failedGpuBuilds: GpuBuild[] = [];

  constructor(
    private readonly options: LoadOptions,
    private readonly parts: LlamaHostParts,
  ) {
    const { spawn, workerEntry: entry, startTimer, proven = false, observer = {} } = parts;
    this.#process = new EngineProcess<ToWorker, FromWorker>({
      capability: 'text',
      spawn,
      entry,
      startTimer,
      proven,
      observer,
      closingMs: options.diskCache ? closingMs.writing : closingMs.plain,
      opening: () => ({ type: 'load', options: this.#loadOptions() }),
      receive: (message) => this.#receive(message),
      startsOver: (exit) => this.#takesLowerBuild(exit) || this.#takesOtherGpuBuild(exit),
      loadReason: (exit) => this.#loadReason(exit),
    });
  }

  start(): void {
    this.#process.start();
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  /** The worker's process, for those who watch or test it. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  state(): TextState {
    const { name } = this.options;
    const state = this.#process.state();
    switch (state.type) {
      case 'ready':
        return { type: 'ready', model: this.#model as TextModel };
      case 'failed':
        return { type: 'failed', name, reason: state.reason };
      case 'stopping':
      case 'stopped':
        return { type: 'loading', name, progress: 0, trouble: { reason: 'it is being stopped', retryAfterSeconds: 5 } };
      case 'idle':
        return { type: 'loading', name, progress: 0 };
      case 'starting':
      case 'lost': {
        const progress = state.type === 'starting' ? state.progress : 0;
        return { type: 'loading', name, progress, ...(state.trouble ? { trouble: state.trouble } : {}) };
      }
    }
  }

  contextSize(): number {
    return this.#model?.contextSize ?? expectedContextSize(this.options);
  }

  settled(): Promise<void> {
    return this.#process.settled();
  }

  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    return this.#process.undertake({
      // Whoever leaves the seed open sends the same request again.
      fingerprint: () => fingerprint({ ...request, sampling: { ...request.sampling, seed: undefined } }),
      begin: (id) => {
        this.#generations.set(id, { sink, seed });
        this.#process.send({ type: 'generate', id, request, seed });
      },
      abort: (id) => this.#process.send({ type: 'abort', id }),
      withdrawn: () => sink.event(unstarted),
      lost: (error, id) => {
        this.#generations.delete(id);
        sink.event({ type: 'error', error });
      },
    });
  }

  tokenize(text: string, { addSpecial, parseSpecial = true }: TokenizeOptions): Promise<readonly number[]> {
    return this.#process.ask((id) => ({ type: 'tokenize', id, text, addSpecial, parseSpecial }));
  }

  pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]> {
    return this.#process.ask((id) => ({ type: 'pieces', id, tokens }));
  }

  detokenize(tokens: readonly number[], { renderSpecial }: { readonly renderSpecial: boolean }): Promise<string> {
    return this.#process.ask((id) => ({ type: 'detokenize', id, tokens, renderSpecial }));
  }

  /** Where no model is there is no cache: nobody waits for one in order to hear that. */
  async cacheReport(): Promise<CacheReport> {
    if (this.#process.state().type !== 'ready') return emptyCacheReport;
    try {
      return await this.#process.ask<CacheReport>((id) => ({ type: 'cache', id }));
    } catch (error) {
      if (this.#process.state().type !== 'ready') return emptyCacheReport;
      throw error;
    }
  }

  get states(): SavedStates | undefined {
    if (this.#process.state().type !== 'ready') return undefined;
    const ask = <Answer>(action: StatesAction) => this.#process.ask<Answer>((id) => ({ type: 'states', id, action }));
    return {
      count: this.options.statePlaces,
      check: () => ask({ type: 'check' }),
      save: (place) => ask({ type: 'save', place }),
      load: (place) => ask({ type: 'load', place }),
      clear: () => ask({ type: 'clear' }),
    };
  }

  #receive(message: FromWorker): void {
    const { observer } = this.parts;
    switch (message.type) {
      case 'step':
        for (const piece of message.pieces) this.#piece(piece);
        return;
      case 'progress':
        this.#process.progressed(message.fraction);
        observer?.progress?.(message.fraction);
        return;
      case 'loaded':
        this.#model = textModel(this.options, message.model);
        observer?.loaded?.(message.model);
        this.#process.becameReady();
        return;
      case 'load-failed':
        this.#process.couldNotLoad(message.reason ?? undefined);
        return;
      case 'note':
        observer?.note?.(message.text);
        return;
      case 'answer':
        this.#process.answered(message.id, message.value);
        return;
      case 'refused':
        this.#process.refused(message.id, reviveError(message.error));
    }
  }

  #piece(piece: Piece): void {
    const generating = this.#generations.get(piece.id);
    if (!generating) return;
    if (piece.type === 'prompt-progress') {
      generating.sink.promptProgress?.(piece);
      return;
    }
    const last = piece.type === 'finish' || piece.type === 'error';
    if (last) this.#generations.delete(piece.id);
    generating.sink.event(toEvent(piece, generating.seed));
    if (last) this.#process.ended(piece.id);
  }

  #loadOptions(): LoadOptions {
    return { ...this.options, skipCpuVariants: this.#skipCpuVariants, failedGpuBuilds: [...this.#failedGpuBuilds] };
  }

  #gpuBuild(): GpuBuild | undefined {
    return nextGpuBuild(this.options.backend, this.parts.gpuBuilds ?? [], this.#failedGpuBuilds);
  }

  /** A card that failed while the model was loaded with it is left alone from then on, where there is another way. */
  #takesOtherGpuBuild({ lastLines }: ChildExit): boolean {
    const failed = this.#gpuBuild();
    const failure = gpuFailure(lastLines);
    // A card that has served may have had a bad moment: then the same is tried again.
    if (!failure || this.#model || failed === undefined || failed === 'none') return false;
    this.#failedGpuBuilds.push(failed);
    const next = this.#gpuBuild();
    if (next === undefined) {
      this.#failedGpuBuilds.pop();
      return false;
    }
    this.parts.observer?.note?.(fallBackNote(failed, failure, next));
    return true;
  }

  #loadReason(exit: ChildExit): string {
    const failure = gpuFailure(exit.lastLines);
    const build = this.#gpuBuild();
    if (failure && build && build !== 'none') return failedForGood(build, failure, this.parts.gpuBuilds ?? []);
    return loadReason(exit.lastLines, howItDied(exit));
  }

  #takesLowerBuild({ signal }: ChildExit): boolean {
    if (signal !== 'SIGILL' || this.#skipCpuVariants >= maximumVariants) return false;
    this.#skipCpuVariants += 1;
    return true;
  }
}

const unstarted: GenerationEvent = {
  type: 'finish',
  reason: 'aborted',
  cause: 'aborted',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
};

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
    case 'prompt-logprobs':
      return { type: 'prompt-logprobs', tokens: piece.tokens };
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
    fillMarks: loaded.fillMarks,
    inputs: loaded.inputs,
  };
}
