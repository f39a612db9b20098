import type { EmbeddingFacts, Pooling } from '../../../core/embedding.ts';
import { AppError } from '../../../core/errors.ts';
import type { GpuMemory } from '../../../core/gpu-memory.ts';
import type { LoadTools } from '../../host/task-worker.ts';
import { readModelFile } from '../../llama/load-options.ts';
import { layersThatFit } from '../../llama/memory-fit.ts';
import { defaultMemory, modelMemory } from '../../llama/model-shape.ts';
import { openEngine, watchedEngine } from '../../llama/worker/load/library.ts';
import { Context } from '../../llama/worker/memory/context.ts';
import { makeThreadpools, metadata, type Threadpools } from '../../llama/worker/native/native.ts';
import type { ContextParams, Pointer } from '../../llama/worker/native/structs.ts';
import { gpuDevices, loadWeights, readGpus } from '../../llama/worker/native/weights.ts';
import { Vocabulary } from '../../llama/worker/text/vocabulary.ts';
import { StepThreads } from '../../llama/worker/threads/step-threads.ts';
import { checkedWeights, weights } from '../../weights.ts';
import type { EmbeddingOptions } from '../host.ts';
import type { BatchLimit, Computer } from './shared-batches.ts';

export type EmbeddingModel = Readonly<Awaited<ReturnType<typeof loadEmbeddingModel>>>;

/** All layers of any model. */
const allLayers = 999;

export async function loadEmbeddingModel(options: EmbeddingOptions, tools: LoadTools) {
  const path = 'path' in options.model ? options.model.path : await checkedWeights(weights.miniLm);
  const opened = openEngine({ ...options, projector: undefined });
  const { native } = watchedEngine(opened, tools.watch, () => performance.now());
  const gpus = gpuDevices(native, options);
  if (gpus.length === 0 && options.backend !== 'cpu')
    tools.note('No usable GPU was found: embeddings are computed on the CPU.');
  const before = readGpus(native, gpus);
  const layers = gpus.length === 0 ? 0 : await chooseLayers(options, path, before);
  if (gpus.length > 0 && layers < allLayers) tools.note(`${layers} layers of the embedding model are on the GPU.`);
  const pointer = await loadWeights(native, { ...options, model: path }, gpus, layers, tools.progress);
  const architecture = metadata(native, pointer, 'general.architecture');
  const causal = metadata(native, pointer, `${architecture}.attention.causal`) !== 'false';
  const pooling = poolingOf(metadata(native, pointer, `${architecture}.pooling_type`), causal);
  const vocabulary = new Vocabulary(native, native.modelVocabulary(pointer), { addBos: true, addEnds: true });
  const trained = native.modelTrainedContext(pointer);
  return {
    native,
    pointer,
    gpus,
    before,
    vocabulary,
    causal,
    /** For a query and a document, if the file has one. */
    rankTemplate: native.modelTemplate(pointer, 'rerank') ?? undefined,
    facts: {
      dimensions: pooling === 'rank' ? native.modelWidth(pointer) : native.modelOutputWidth(pointer),
      maxTokens: options.maxTokens > 0 ? Math.min(options.maxTokens, trained) : trained,
      pooling,
      architecture,
      parameters: Number(native.modelParameters(pointer)),
      sizeBytes: Number(native.modelSize(pointer)),
    } satisfies EmbeddingFacts,
  };
}

/** As many as fit beside what other models and programs have on the GPUs. */
async function chooseLayers(
  { gpuLayers, memoryMarginMegabytes, tensorSplit }: EmbeddingOptions,
  path: string,
  gpus: readonly GpuMemory[],
): Promise<number> {
  if (gpuLayers !== 'auto') return gpuLayers;
  const { shape } = await readModelFile(path);
  const { tokens } = batchLimit;
  const sizes = { ...defaultMemory, contextSize: tokens, microBatchSize: tokens };
  const { weightBytes, cacheBytes, computeBytes } = modelMemory(shape, sizes);
  const fitting = layersThatFit({
    modelBytes: weightBytes,
    cacheBytes,
    fixedBytes: computeBytes,
    layers: shape.layers,
    freeBytes: gpus.map(({ freeBytes }) => freeBytes),
    marginBytes: memoryMarginMegabytes * 2 ** 20,
    split: tensorSplit,
  });
  return fitting > shape.layers ? allLayers : fitting;
}

/** In the order of the enumeration of llama.cpp. */
export const poolings: readonly Pooling[] = ['none', 'mean', 'cls', 'last', 'rank'];

/** Default of a file without a pooling type: the last token of causal models, which has seen all others. */
export function poolingOf(said: string, causal: boolean): Pooling {
  return (said === '' ? undefined : poolings[Number(said)]) ?? (causal ? 'last' : 'mean');
}

/** More tokens would make each of them slower: attention is computed over all tokens of a batch, also of other texts. */
const batchLimit: BatchLimit = { tokens: 512, sequences: 64 };

/** A context per pooling type, created on first use. */
export class PooledContexts implements Computer {
  readonly limit = batchLimit;
  readonly #contexts = new Map<Pooling, Context>();
  readonly #threadpools: Threadpools;
  readonly #threads: StepThreads | undefined;
  #running: Context | undefined;

  constructor(
    private readonly model: EmbeddingModel,
    private readonly options: EmbeddingOptions,
  ) {
    const { threads, fixedThreads, backend } = options;
    this.#threadpools = makeThreadpools(model.native, threads, threads);
    const { use } = this.#threadpools;
    const parts = { decode: threads, prefill: threads, use, send: () => {}, now: () => performance.now() };
    this.#threads = fixedThreads || backend !== 'cpu' || threads === 1 ? undefined : new StepThreads(parts);
  }

  async compute(pooling: Pooling, texts: readonly Int32Array[]) {
    const context = this.#contexts.get(pooling) ?? this.#open(pooling);
    const places = fill(context, texts);
    this.#running = context;
    this.#threads?.before(true, context.size);
    const result = await context.decode();
    this.#threads?.after(result);
    this.#running = undefined;
    for (let sequence = 0; sequence < texts.length; sequence += 1) context.forget(sequence, 0);
    if (result === 'aborted') return undefined;
    if (result !== 'ok') throw failure('the texts could not be computed');
    const { native } = this.model;
    return texts.map(({ length }, sequence) => {
      if (pooling !== 'none') return [this.#copied(native.sequenceVector(context.pointer, sequence), pooling)];
      const first = places[sequence] ?? 0;
      const vectorAt = (index: number) => native.placeVector(context.pointer, first + index);
      return Array.from({ length }, (_, index) => this.#copied(vectorAt(index), pooling));
    });
  }

  stop(): void {
    this.#running?.abortDecode();
  }

  /** A copy, because the next batch overwrites it. */
  #copied(pointer: Pointer | null, pooling: Pooling): Float32Array {
    const { native, pointer: model, facts } = this.model;
    if (!pointer) throw failure('there is no vector for this text');
    const size = pooling === 'rank' ? Math.max(1, native.modelClasses(model)) : facts.dimensions;
    const vector = new Float32Array(native.view(pointer, size * Float32Array.BYTES_PER_ELEMENT)).slice();
    if (!vector.every(Number.isFinite)) throw failure('what the model computes for this text is no number');
    return vector;
  }

  #open(pooling: Pooling): Context {
    const { native, pointer, vocabulary } = this.model;
    // The embedding of such a model comes from its encoder.
    const computing = native.modelHasEncoder(pointer) ? { ...native, decode: native.encode } : native;
    const context = new Context(computing, pointer, this.#params(pooling), vocabulary.size);
    this.#threadpools.attach(context.pointer);
    this.#contexts.set(pooling, context);
    return context;
  }

  #params(pooling: Pooling): ContextParams {
    const { native, facts } = this.model;
    const { threads, flashAttention } = this.options;
    const tokens = Math.max(facts.maxTokens, batchLimit.tokens);
    // Without pooling over its tokens, a long text is computed in several steps, which takes less memory.
    const inSteps = this.model.causal && (pooling === 'last' || pooling === 'none');
    return {
      ...native.contextDefaults(),
      n_ctx: tokens,
      n_batch: tokens,
      n_ubatch: inSteps ? Math.min(tokens, batchLimit.tokens) : tokens,
      n_seq_max: batchLimit.sequences,
      n_threads: threads,
      n_threads_batch: threads,
      pooling_type: poolings.indexOf(pooling),
      flash_attn_type: flashAttention ? -1 : 0,
      embeddings: true,
      no_perf: true,
      // All texts share the cache.
      kv_unified: true,
    };
  }
}

function failure(reason: string): AppError {
  return new AppError('engine-failed', { capability: 'embedding', reason });
}

/** Adds each text as a sequence; returns their positions in the batch. */
function fill(context: Context, texts: readonly Int32Array[]): number[] {
  context.clearBatch();
  return texts.map((text, sequence) => {
    const first = context.size;
    for (let position = 0; position < text.length; position += 1) {
      context.add(text[position] as number, position, sequence, true);
    }
    return first;
  });
}
