import type { EmbeddingFacts } from '../../../core/embedding.ts';
import { serveTasks } from '../../host/task-worker.ts';
import { gpuUse, readGpus } from '../../llama/worker/native/weights.ts';
import type { EmbeddingEvent, EmbeddingOptions, EmbeddingTask } from '../host.ts';
import { Embedder } from './embedder.ts';
import { pairMarks } from './inputs.ts';
import { loadEmbeddingModel, PooledContexts } from './model.ts';

/** Concurrent tasks, which are batched together. */
const tasksAtOnce = 8;

/** Embedding worker process. */
serveTasks<EmbeddingOptions, EmbeddingFacts, EmbeddingTask, EmbeddingEvent>(async (options, tools) => {
  const model = await loadEmbeddingModel(options, tools);
  const { facts, vocabulary, native, rankTemplate } = model;
  const embedder = new Embedder({
    facts,
    vocabulary: vocabulary,
    computer: new PooledContexts(model, options),
    marks: pairMarks(native, vocabulary),
    rankTemplate,
  });
  await embedder.warmUp();
  return {
    facts: { ...facts, gpus: gpuUse(model.before, readGpus(native, model.gpus)) },
    concurrency: tasksAtOnce,
    run: async (task, { emit, signal }) => {
      if (task.type === 'gpus') {
        emit({ type: 'gpus', gpus: readGpus(native, model.gpus) });
        return;
      }
      if (task.type === 'rank') {
        emit({ type: 'ranked', ...(await embedder.rank(task.request, signal)) });
        return;
      }
      const { vectors, ...rest } = await embedder.embed(task.request, signal);
      const counts = vectors.map(({ length }) => length);
      const dimensions = vectors[0]?.[0]?.length ?? facts.dimensions;
      const all = new Float32Array(vectors.flat().length * dimensions);
      for (const [index, vector] of vectors.flat().entries()) all.set(vector, index * dimensions);
      emit({ type: 'embedded', ...rest, counts, dimensions, numbers: new Uint8Array(all.buffer) });
    },
  };
});
