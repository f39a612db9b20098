import type {
  Embedded,
  EmbeddingEngine,
  EmbeddingFacts,
  EmbeddingRequest,
  Ranked,
  RankRequest,
} from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import type { ChildExit } from '../host/child.ts';
import { howItDied } from '../host/engine-state.ts';
import { TaskEngine, type TaskEngineParts, type Told } from '../host/task-engine.ts';
import { gpuFailure, loadReason, withLowerCpuBuild } from '../llama/gpu-builds.ts';
import type { LoadOptions } from '../llama/load-options.ts';

type Parts = TaskEngineParts<EmbeddingOptions, EmbeddingFacts>;
type Event<Type extends EmbeddingEvent['type']> = Extract<EmbeddingEvent, { type: Type }>;

/** Host of the embedding worker process. */
export class EmbeddingHost
  extends TaskEngine<EmbeddingOptions, EmbeddingFacts, EmbeddingTask, EmbeddingEvent>
  implements EmbeddingEngine
{
  constructor(parts: Omit<Parts, 'startsOver' | 'loadReason'>) {
    super({
      ...parts,
      startsOver: (exit, options) => {
        const next = startsOver(exit, options);
        const failure = next && next.backend !== options.backend ? gpuFailure(exit.lastLines) : undefined;
        if (failure) parts.observer?.note?.(`Embeddings cannot be computed on the GPU (${failure}); the CPU does it.`);
        return next;
      },
      loadReason: (exit) => loadReason(exit.lastLines, howItDied(exit)),
    });
  }

  async embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embedded> {
    const { event, attachments } = await this.#only('embedded', { type: 'embed', request }, signal);
    const { type: _, counts, dimensions, ...rest } = event;
    return { ...rest, vectors: cutApart(attachments[0] ?? new Uint8Array(), counts, dimensions) };
  }

  async rank(request: RankRequest, signal: AbortSignal): Promise<Ranked> {
    const { event } = await this.#only('ranked', { type: 'rank', request }, signal);
    const { type: _, ...ranked } = event;
    return ranked;
  }

  async #only<Type extends EmbeddingEvent['type']>(type: Type, task: EmbeddingTask, signal: AbortSignal) {
    let found: Told<Event<Type>> | undefined;
    for await (const result of this.run(task, signal)) {
      if (result.event.type === type) found = result as Told<Event<Type>>;
    }
    if (!found) throw new AppError('engine-failed', { capability: 'embedding', reason: 'it gave no result' });
    return found;
  }
}

/** After an illegal instruction the next lower CPU build is used, after a GPU error the CPU. */
export function startsOver(exit: ChildExit, options: EmbeddingOptions): EmbeddingOptions | undefined {
  const lower = withLowerCpuBuild(exit, options);
  if (lower || options.backend === 'cpu' || !gpuFailure(exit.lastLines)) return lower;
  return { ...options, backend: 'cpu', gpuLayers: 0 };
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

type GpuOptions = 'backend' | 'gpuLayers' | 'devices' | 'mainGpu' | 'failedGpuBuilds';
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
  | { readonly type: 'rank'; readonly request: RankRequest };

/** All vectors are one attachment; `counts` is the number of vectors per input. */
interface EmbeddedVectors extends Omit<Embedded, 'vectors'> {
  readonly type: 'embedded';
  readonly counts: readonly number[];
  readonly dimensions: number;
}

export type EmbeddingEvent = EmbeddedVectors | ({ readonly type: 'ranked' } & Ranked);
