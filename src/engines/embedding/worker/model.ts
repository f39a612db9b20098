import type { EmbeddingFacts, Pooling } from '../../../core/embedding.ts';
import type { LoadTools } from '../../host/task-worker.ts';
import { openEngine, watchedEngine } from '../../llama/worker/load/library.ts';
import { metadata, type Native } from '../../llama/worker/native/native.ts';
import type { Pointer } from '../../llama/worker/native/structs.ts';
import { gpuDevices, loadWeights } from '../../llama/worker/native/weights.ts';
import { Vocabulary } from '../../llama/worker/text/vocabulary.ts';
import { checkedWeights, weights } from '../../weights.ts';
import type { EmbeddingOptions } from '../messages.ts';

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
