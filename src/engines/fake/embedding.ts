import type { EmbeddingEngine } from '../../core/embedding.ts';
import type { EngineSource } from '../../core/engine-source.ts';
import { AppError } from '../../core/errors.ts';

const [dimensions, maxTokens] = [4, 64];

/** An embedding engine without a model: a character is a token, and a vector tells how many there were. */
export const fakeEmbedding: EmbeddingEngine = {
  facts: () => ({ dimensions, maxTokens, pooling: 'mean', architecture: 'fake', parameters: 0, sizeBytes: 0 }),
  embed: async ({ inputs, truncate, pooling = 'mean' }) => {
    const truncated = inputs.flatMap(({ length }, index) => (length > maxTokens ? [index] : []));
    const [first] = truncated;
    if (first !== undefined && !truncate) {
      const tokens = inputs[first]?.length ?? 0;
      throw new AppError('input-too-long', { field: `input[${first}]`, tokens, mostTokens: maxTokens });
    }
    const tokens = inputs.map(({ length }) => Math.min(length, maxTokens));
    const vectors = tokens.map((count) =>
      Array.from({ length: pooling === 'none' ? count : 1 }, () => Float32Array.of(count, 1, -1, 0.5)),
    );
    return { vectors, tokens, truncated, pooling };
  },
  rank: async ({ documents }) => ({
    scores: documents.map(({ length }) => 1 / (1 + length)),
    tokens: documents.length,
    truncated: [],
  }),
};

export const fakeEmbeddingSource: EngineSource<EmbeddingEngine> = {
  name: 'fake-embedding',
  use: async () => ({ engine: fakeEmbedding, release: () => undefined }),
  peek: () => fakeEmbedding,
  state: () => ({ type: 'ready' }),
};
