import type { EmbeddingFacts, Pooling } from '../../../core/embedding.ts';
import { AppError } from '../../../core/errors.ts';
import type { LoadTools } from '../../host/task-worker.ts';
import { openEngine, watchedEngine } from '../../llama/worker/load/library.ts';
import { Context } from '../../llama/worker/memory/context.ts';
import { makeThreadpools, metadata, type Native, type Threadpools } from '../../llama/worker/native/native.ts';
import type { ContextParams, Pointer } from '../../llama/worker/native/structs.ts';
import { gpuDevices, loadWeights } from '../../llama/worker/native/weights.ts';
import { Vocabulary } from '../../llama/worker/text/vocabulary.ts';
import { checkedWeights, weights } from '../../weights.ts';
import type { EmbeddingOptions } from '../messages.ts';
import type { Computer, Room } from './shared-batches.ts';

/** A model whose weights are in memory. */
export interface EmbeddingModel {
  readonly native: Native;
  readonly pointer: Pointer;
  readonly vocabulary: Vocabulary;
  readonly facts: EmbeddingFacts;
  /** Whether a token sees only what stands before it. */
  readonly causal: boolean;
  /** How a query and a document are put together, where the file says it. */
  readonly rankTemplate: string | undefined;
}

/** All layers of any model. */
const allLayers = 999;

export async function loadEmbeddingModel(options: EmbeddingOptions, tools: LoadTools): Promise<EmbeddingModel> {
  const path = 'path' in options.model ? options.model.path : await checkedWeights(weights.miniLm);
  const opened = openEngine({ ...options, projector: undefined });
  const { native } = watchedEngine(opened, tools.watch, () => performance.now());
  const gpus = gpuDevices(native, options);
  if (gpus.length === 0 && options.backend !== 'cpu')
    tools.note('No usable GPU was found: embeddings are computed on the CPU.');
  const layers = gpus.length === 0 ? 0 : options.gpuLayers === 'auto' ? allLayers : options.gpuLayers;
  const pointer = await loadWeights(native, { ...options, model: path }, gpus, layers, tools.progress);
  const architecture = metadata(native, pointer, 'general.architecture');
  const causal = metadata(native, pointer, `${architecture}.attention.causal`) !== 'false';
  const pooling = poolingOf(metadata(native, pointer, `${architecture}.pooling_type`), causal);
  const vocabulary = new Vocabulary(native, native.modelVocabulary(pointer), { addBos: true, addEnds: true });
  const trained = native.modelTrainedContext(pointer);
  return {
    native,
    pointer,
    vocabulary,
    causal,
    rankTemplate: native.modelTemplate(pointer, 'rerank') ?? undefined,
    facts: {
      dimensions: pooling === 'rank' ? native.modelWidth(pointer) : native.modelOutputWidth(pointer),
      maxTokens: options.maxTokens > 0 ? Math.min(options.maxTokens, trained) : trained,
      pooling,
      architecture,
      parameters: Number(native.modelParameters(pointer)),
      sizeBytes: Number(native.modelSize(pointer)),
    },
  };
}

/** As the library numbers them. */
export const poolings: readonly Pooling[] = ['none', 'mean', 'cls', 'last', 'rank'];

/** A file that does not say it is that of a text model: its last token has seen all others, if they see each other at all. */
export function poolingOf(said: string, causal: boolean): Pooling {
  return (said === '' ? undefined : poolings[Number(said)]) ?? (causal ? 'last' : 'mean');
}

/**
 * How much is computed together. More tokens would make each of them dearer: every token of a batch is held against every
 * other one, also of other texts.
 */
const usualRoom: Room = { tokens: 512, sequences: 64 };

/** The contexts of one model, one for each way of pooling, each made when somebody needs it. */
export class PooledContexts implements Computer<Pooling> {
  readonly room: Room = usualRoom;
  readonly #contexts = new Map<Pooling, Context>();
  readonly #threadpools: Threadpools;
  #running: Context | undefined;

  constructor(
    private readonly model: EmbeddingModel,
    private readonly options: EmbeddingOptions,
  ) {
    this.#threadpools = makeThreadpools(model.native, options.threads, options.threads);
  }

  async compute(
    pooling: Pooling,
    texts: readonly Int32Array[],
  ): Promise<readonly (readonly Float32Array[])[] | undefined> {
    const context = this.#contexts.get(pooling) ?? this.#open(pooling);
    const places = fill(context, texts);
    this.#running = context;
    const result = await context.decode();
    this.#running = undefined;
    for (let sequence = 0; sequence < texts.length; sequence += 1) context.forget(sequence, 0);
    if (result === 'aborted') return undefined;
    if (result !== 'ok') throw failure('the texts could not be computed');
    return texts.map((text, index) => this.#read(context, pooling, text, index, places));
  }

  stop(): void {
    this.#running?.abortDecode();
  }

  #read(
    { pointer }: Context,
    pooling: Pooling,
    { length }: Int32Array,
    sequence: number,
    places: readonly number[],
  ): readonly Float32Array[] {
    const { native } = this.model;
    if (pooling !== 'none') return [this.#copied(native.sequenceVector(pointer, sequence), pooling)];
    const first = places[sequence] ?? 0;
    return Array.from({ length }, (_, index) => this.#copied(native.placeVector(pointer, first + index), pooling));
  }

  /** The next batch is written over it. */
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
    // Such a model reads with its first half, and it is this half that knows what a text means.
    const computing = native.modelHasEncoder(pointer) ? { ...native, decode: native.encode } : native;
    const context = new Context(computing, pointer, this.#params(pooling), vocabulary.size);
    this.#threadpools.attach(context.pointer);
    this.#contexts.set(pooling, context);
    return context;
  }

  /**
   * Whether a long text may be computed in several steps, which takes less memory. Its last token knows all before it; any
   * other vector would be that of a part.
   */
  #canGoOn(pooling: Pooling): boolean {
    return this.model.causal && (pooling === 'last' || pooling === 'none');
  }

  #params(pooling: Pooling): ContextParams {
    const { native, facts } = this.model;
    const { threads, flashAttention } = this.options;
    const tokens = Math.max(facts.maxTokens, usualRoom.tokens);
    return {
      ...native.contextDefaults(),
      n_ctx: tokens,
      n_batch: tokens,
      n_ubatch: this.#canGoOn(pooling) ? Math.min(tokens, usualRoom.tokens) : tokens,
      n_seq_max: usualRoom.sequences,
      n_threads: threads,
      n_threads_batch: threads,
      pooling_type: poolings.indexOf(pooling),
      flash_attn_type: flashAttention ? -1 : 0,
      embeddings: true,
      no_perf: true,
      // One store for all texts, of which each takes what it needs.
      kv_unified: true,
    };
  }
}

function failure(reason: string): AppError {
  return new AppError('engine-failed', { capability: 'embedding', reason });
}

/** Puts each text into a sequence of its own, and tells where in the batch it begins. */
function fill(context: Context, texts: readonly Int32Array[]): number[] {
  context.clearBatch();
  return texts.map((text, sequence) => {
    const first = context.size;
    text.forEach((token, position) => {
      context.add(token, position, sequence, true);
    });
    return first;
  });
}
