import type {
  Embedded,
  EmbeddingEngine,
  EmbeddingFacts,
  EmbeddingRequest,
  Ranked,
  RankRequest,
} from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import type { GpuMemory, GpuUse } from '../../core/gpu-memory.ts';
import type { ChildExit } from '../host/child.ts';
import { howItDied } from '../host/engine-state.ts';
import { TaskEngine, type TaskEngineDeps } from '../host/task-engine.ts';
import type { LoadOptions } from '../llama/load-options.ts';
import {
  gpuFailure,
  gpuMemoryFailure,
  loadReason,
  type MachineFacts,
  type StartOver,
  startOver,
} from '../llama/worker-failure.ts';

type Deps = TaskEngineDeps<EmbeddingOptions, EmbeddingFacts>;

/** For a query that computes nothing, while other tasks run. */
const maxAnswerMs = 5000;

/** Host of the embedding worker process. */
export class EmbeddingHost
  extends TaskEngine<EmbeddingOptions, EmbeddingFacts, EmbeddingTask, EmbeddingEvent>
  implements EmbeddingEngine
{
  constructor(
    deps: Omit<Deps, 'startsOver' | 'loadReason'>,
    known: MachineFacts = { installed: [], canBuild: () => false },
  ) {
    super({
      ...deps,
      startsOver: (exit, options) => {
        const next = startsOver(exit, options, known);
        if (next?.note !== undefined) deps.observer?.note?.(next.note);
        return next?.options;
      },
      loadReason: (exit) => loadReason(exit.lastLines, howItDied(exit)),
    });
  }

  async embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embedded> {
    const event = await this.#only('embedded', { type: 'embed', request }, signal);
    const { type: _, counts, dimensions, numbers, ...rest } = event;
    return { ...rest, vectors: cutApart(numbers, counts, dimensions) };
  }

  async rank(request: RankRequest, signal: AbortSignal): Promise<Ranked> {
    const { type: _, ...ranked } = await this.#only('ranked', { type: 'rank', request }, signal);
    return ranked;
  }

  /** The GPUs that the model uses, with their memory when it was loaded. */
  gpuUse(): readonly GpuUse[] {
    return this.state().type === 'ready' ? (this.facts()?.gpus ?? []) : [];
  }

  /** The memory of the GPUs now; none without a loaded model. */
  async gpus(): Promise<readonly GpuMemory[]> {
    if (this.gpuUse().length === 0) return [];
    try {
      return (await this.#only('gpus', { type: 'gpus' }, AbortSignal.timeout(maxAnswerMs))).gpus;
    } catch {
      return [];
    }
  }

  async #only<Type extends EmbeddingEvent['type']>(type: Type, task: EmbeddingTask, signal: AbortSignal) {
    const event = await this.outcome(task, signal);
    if (event?.type === type) return event as Extract<EmbeddingEvent, { type: Type }>;
    throw new AppError('engine-failed', { capability: 'embedding', reason: 'it gave no result' });
  }
}

/** After an illegal instruction the next lower CPU build is used, after a GPU error the next GPU build, and in the end the CPU. */
export function startsOver(
  exit: ChildExit,
  options: EmbeddingOptions,
  known: MachineFacts,
): StartOver<EmbeddingOptions> | undefined {
  if (options.backend === 'cpu') return startOver(exit, options, { ...known, gpuLayers: undefined, hasWorked: false });
  const full = gpuMemoryFailure(exit.lastLines);
  const next = full ? undefined : startOver(exit, options, { ...known, gpuLayers: undefined, hasWorked: false });
  const failure = full ?? gpuFailure(exit.lastLines);
  if (next || !failure) return next;
  return {
    options: { ...options, backend: 'cpu', gpuLayers: 0 },
    note: `Embeddings cannot be computed on the GPU (${failure}); the CPU does it.`,
  };
}

function cutApart(bytes: Uint8Array, counts: readonly number[], dimensions: number): Float32Array[][] {
  const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / Float32Array.BYTES_PER_ELEMENT);
  let start = 0;
  return counts.map((count) =>
    Array.from({ length: count }, () => {
      start += dimensions;
      return numbers.subarray(start - dimensions, start);
    }),
  );
}

type GpuOptions =
  | 'backend'
  | 'gpuLayers'
  | 'layersBefore'
  | 'devices'
  | 'mainGpu'
  | 'memoryMarginMegabytes'
  | 'failedGpuBuilds';
type CpuOptions = 'threads' | 'fixedThreads' | 'flashAttention' | 'cpuLevel' | 'cpuBuild' | 'skipCpuVariants';
type WeightOptions = 'tensorSplit' | 'splitMode' | 'loadMode' | 'metadataOverrides' | 'tensorOverrides';

/** Load options, as JSON. Most of them are those of text models. */
export interface EmbeddingOptions extends Pick<LoadOptions, GpuOptions | CpuOptions | WeightOptions> {
  /** A file, or the built-in model. */
  readonly model: { readonly path: string } | { readonly builtIn: true };
  /** Maximum input length; 0 means that of the model. */
  readonly maxTokens: number;
}

export type EmbeddingTask =
  | { readonly type: 'embed'; readonly request: EmbeddingRequest }
  | { readonly type: 'rank'; readonly request: RankRequest }
  | { readonly type: 'gpus' };

interface EmbeddedVectors extends Omit<Embedded, 'vectors'> {
  readonly type: 'embedded';
  /** All vectors, one after the other, in single precision. */
  readonly numbers: Uint8Array;
  /** Vectors per input. */
  readonly counts: readonly number[];
  readonly dimensions: number;
}

export type EmbeddingEvent =
  | EmbeddedVectors
  | ({ readonly type: 'ranked' } & Ranked)
  | { readonly type: 'gpus'; readonly gpus: readonly GpuMemory[] };
