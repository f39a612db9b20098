import { reviveError } from '../../core/errors.ts';
import { abortedUnstarted } from '../../core/events.ts';
import type { GpuMemory, GpuUse } from '../../core/gpu-memory.ts';
import type { GenerationRequest } from '../../core/request.ts';
import {
  type CacheReport,
  emptyCacheReport,
  type GenerationSink,
  type PoolFigures,
  type RunningGeneration,
  type SavedStates,
  type SnapshotFigures,
  type StepTimes,
  type TextEngine,
  type TextModel,
  type TextState,
  type ThreadUse,
  type TokenizeOptions,
  type TokenPiece,
} from '../../core/text-service.ts';
import type { ChildExit } from '../host/child.ts';
import { EngineHost, type EngineObserver, EngineProcess, type EngineProcessDeps } from '../host/engine-process.ts';
import { howItDied, unreadyText } from '../host/engine-state.ts';
import { fingerprint } from '../host/in-flight.ts';
import { expectedContextSize, type GpuBuild, type LoadedModel, type LoadOptions } from './load-options.ts';
import { closingMs, type Piece, type StatesAction, type TextMessage, type ToWorker } from './messages.ts';
import {
  type FailedBuild,
  failedBuild,
  failedForGood,
  loadReason,
  type MachineFacts,
  startOver,
} from './worker-failure.ts';

type ProcessDeps = Pick<
  EngineProcessDeps<ToWorker, TextMessage, LoadedModel>,
  'spawn' | 'entry' | 'startTimer' | 'proven'
>;

export interface LlamaHostDeps extends ProcessDeps {
  /** The installed builds of the engine. */
  readonly gpuBuilds?: readonly GpuBuild[];
  readonly canBuild?: MachineFacts['canBuild'];
  readonly observer?: LlamaObserver;
}

export type LlamaObserver = EngineObserver<LoadedModel>;

/** The text engine as the server sees it: the messages to a worker process with one model. Its lifecycle is in `EngineProcess`. */
export class LlamaHost extends EngineHost implements TextEngine {
  protected readonly process: EngineProcess<ToWorker, TextMessage, LoadedModel>;
  readonly #generations = new Map<number, GenerationSink>();
  #model: TextModel | undefined;
  #steps: StepTimes = { steps: 0, rows: 0, computeMs: 0, sampleMs: 0, totalMs: 0 };
  #threads: ThreadUse | undefined;
  #snapshots: SnapshotFigures | undefined;
  #pool: PoolFigures | undefined;
  /** Layers on GPUs, as reported by the running worker. */
  #gpuLayers: number | undefined;
  #gpus: readonly GpuUse[] = [];
  readonly #failedBuilds: FailedBuild[] = [];

  constructor(
    /** Without the builds that have failed. */
    private options: LoadOptions,
    private readonly deps: LlamaHostDeps,
  ) {
    super();
    const { gpuBuilds: _, canBuild: __, ...process } = deps;
    this.process = new EngineProcess({
      ...process,
      capability: 'text',
      closingMs: options.diskCache ? closingMs.writing : closingMs.plain,
      opening: () => {
        this.#gpuLayers = undefined;
        this.#snapshots = undefined;
        this.#pool = undefined;
        return { type: 'load', options: this.options };
      },
      loaded: (model) => this.#loaded(model),
      receive: (message) => this.#receive(message),
      startsOver: (exit) => this.#startsOver(exit),
      loadReason: (exit) => this.#loadReason(exit),
    });
  }

  state(): TextState {
    const { name } = this.options;
    const state = this.process.state();
    return state.type === 'ready' ? { type: 'ready', model: this.#model as TextModel } : unreadyText(name, state);
  }

  contextSize(): number {
    return this.#model?.contextSize ?? expectedContextSize(this.options);
  }

  generate(request: GenerationRequest, seed: number, sink: GenerationSink): RunningGeneration {
    let begunId: number | undefined;
    const task = this.process.startTask({
      // A client that sets no seed sends the same request again.
      fingerprint: () => fingerprint({ ...request, sampling: { ...request.sampling, seed: undefined } }),
      begin: (id) => {
        begunId = id;
        this.#generations.set(id, sink);
        this.process.send({ type: 'generate', id, request, seed });
      },
      abort: (id) => this.process.send({ type: 'abort', id }),
      withdrawn: () => sink.event(abortedUnstarted),
      lost: (error, id) => {
        this.#generations.delete(id);
        sink.event({ type: 'error', error });
      },
    });
    const send = (type: 'hold' | 'proceed'): void => {
      if (begunId !== undefined) this.process.send({ type, id: begunId });
    };
    return {
      ...task,
      interrupt: (minTokens) => {
        if (begunId !== undefined) this.process.send({ type: 'interrupt', id: begunId, minTokens });
      },
      hold: () => send('hold'),
      proceed: () => send('proceed'),
    };
  }

  /** Undefined for requests with media, whose time is not known. Invalid requests get their error when they run. */
  async uncachedTokens(request: GenerationRequest): Promise<number | undefined> {
    if (!this.#isReady || request.media.length > 0) return undefined;
    return this.process.call<number>((id) => ({ type: 'uncached', id, request })).catch(() => undefined);
  }

  tokenize(text: string, { addSpecial, parseSpecial = true }: TokenizeOptions): Promise<readonly number[]> {
    return this.process.call((id) => ({ type: 'tokenize', id, text, addSpecial, parseSpecial }));
  }

  pieces(tokens: readonly number[]): Promise<readonly TokenPiece[]> {
    return this.process.call((id) => ({ type: 'pieces', id, tokens }));
  }

  detokenize(tokens: readonly number[], { renderSpecial }: { readonly renderSpecial: boolean }): Promise<string> {
    return this.process.call((id) => ({ type: 'detokenize', id, tokens, renderSpecial }));
  }

  /** Without a loaded model the report is empty; it does not wait for one. */
  async cacheReport(): Promise<CacheReport> {
    if (!this.#isReady) return emptyCacheReport;
    return this.process
      .call<CacheReport>((id) => ({ type: 'cache', id }))
      .catch((error: unknown) => {
        if (this.#isReady) throw error;
        return emptyCacheReport;
      });
  }

  /** The sum over all its processes. */
  steps(): StepTimes {
    return this.#steps;
  }

  get #isReady(): boolean {
    return this.process.state().type === 'ready';
  }

  threads(): ThreadUse | undefined {
    return this.#isReady ? this.#threads : undefined;
  }

  /** Undefined without a loaded model, and with `--smartcache 0`. */
  snapshots(): SnapshotFigures | undefined {
    return this.#isReady ? this.#snapshots : undefined;
  }

  cellPool(): PoolFigures | undefined {
    return this.#isReady ? this.#pool : undefined;
  }

  /** Frees memory of snapshots, up to this many bytes. */
  async release(bytes: number): Promise<void> {
    if (!this.snapshots()?.bytes) return;
    await this.process.call((id) => ({ type: 'release', id, bytes })).catch(() => undefined);
  }

  /** The GPUs that the model uses, with their memory when it was loaded. */
  gpuUse(): readonly GpuUse[] {
    return this.#isReady ? this.#gpus : [];
  }

  /** The present memory of those GPUs; empty without a loaded model. */
  async gpus(): Promise<readonly GpuMemory[]> {
    if (this.gpuUse().length === 0) return [];
    return this.process.call<readonly GpuMemory[]>((id) => ({ type: 'gpus', id })).catch(() => []);
  }

  get states(): SavedStates | undefined {
    if (!this.#isReady) return undefined;
    const call = <Result>(action: StatesAction) => this.process.call<Result>((id) => ({ type: 'states', id, action }));
    return {
      count: this.options.savedStates,
      check: () => call({ type: 'check' }),
      save: (index) => call({ type: 'save', index }),
      load: (index) => call({ type: 'load', index }),
      clear: () => call({ type: 'clear' }),
    };
  }

  #loaded({ layers, gpuLayers, devices, gpus, cpuVariant, snapshotBytes, notes, ...facts }: LoadedModel): void {
    this.#gpus = gpus;
    const placed = { all: layers + 1, onGpus: gpuLayers };
    this.#model = { name: this.options.name, path: this.options.model, ...facts, layers: placed };
    // The count of changes continues after a restart.
    const { threads: decode, batchThreads: prefill } = this.options;
    this.#threads = { decode, prefill, changes: this.#threads?.changes ?? 0 };
  }

  #receive(message: TextMessage): void {
    switch (message.type) {
      case 'step':
        for (const piece of message.pieces) this.#piece(piece);
        return;
      case 'placed':
        this.#gpuLayers = message.gpuLayers;
        return;
      case 'step-times':
        this.#steps = added(this.#steps, message.times);
        this.#pool = message.pool;
        return;
      case 'threads': {
        const { decode, prefill } = message;
        this.#threads = { decode, prefill, changes: (this.#threads?.changes ?? 0) + message.changes };
        return;
      }
      case 'snapshots':
        this.#snapshots = message.figures;
        return;
      case 'answer':
        this.process.calls.answer(message.id, message.value);
        return;
      case 'refused':
        this.process.calls.refuse(message.id, reviveError(message.error));
    }
  }

  #piece({ id, ...piece }: Piece): void {
    const sink = this.#generations.get(id);
    if (!sink) return;
    if (piece.type === 'prompt-progress') {
      sink.promptProgress?.(piece);
      return;
    }
    const last = piece.type === 'finish' || piece.type === 'error';
    if (last) this.#generations.delete(id);
    sink.event(piece.type === 'error' ? { type: 'error', error: reviveError(piece.error) } : piece);
    if (last) this.process.ended(id);
  }

  #startsOver(exit: ChildExit): boolean {
    const next = startOver(exit, this.options, this.#workerFacts());
    if (!next) return false;
    this.options = next.options;
    if (next.failed) this.#failedBuilds.push(next.failed);
    if (next.note !== undefined) this.deps.observer?.note?.(next.note);
    return true;
  }

  #workerFacts() {
    return {
      installed: this.deps.gpuBuilds ?? [],
      canBuild: this.deps.canBuild ?? (() => false),
      gpuLayers: this.#gpuLayers,
      hasWorked: this.#model !== undefined,
    };
  }

  #loadReason(exit: ChildExit): string {
    const facts = this.#workerFacts();
    const failed = failedBuild(exit, this.options, facts);
    if (failed) return failedForGood([...this.#failedBuilds, failed], facts);
    return loadReason(exit.lastLines, howItDied(exit));
  }
}

function added(sum: StepTimes, more: StepTimes): StepTimes {
  const names = Object.keys(sum) as (keyof StepTimes)[];
  return Object.fromEntries(names.map((name) => [name, sum[name] + more[name]])) as StepTimes;
}
