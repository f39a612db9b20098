import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageEngine } from '../core/image.ts';
import { unit } from '../core/vectors.ts';
import { sketch } from '../engines/image/facts.ts';
import type { ConditionedEngine, PromptVectors } from '../engines/image/host.ts';

/**
 * An image engine whose prompts an embedding engine encodes. Neither is in use while the other is loaded, because each may have to be
 * evicted for the other. So both are loaded by the work and not by `use`.
 */
export function encodedImageSource(
  source: EngineSource<ConditionedEngine>,
  encoder: EngineSource<EmbeddingEngine>,
): EngineSource<ImageEngine> {
  const engine: ImageEngine = {
    facts: () => source.peek()?.facts(),
    draw: async function* (request, signal) {
      const read = await readPrompts(encoder, [request.prompt, request.negativePrompt], signal);
      const use = await source.use(signal);
      try {
        yield* use.engine.draw(request, signal, { read });
      } finally {
        use.release();
      }
    },
    upscale: async (request, signal) => {
      const use = await source.use(signal);
      try {
        return await use.engine.upscale(request, signal);
      } finally {
        use.release();
      }
    },
  };
  return {
    ...source,
    use: async (signal) => {
      signal?.throwIfAborted();
      return { engine, release: () => {} };
    },
    peek: () => source.peek() && engine,
  };
}

/** An empty prompt is the zero vector and needs no encoder. */
async function readPrompts(
  encoder: EngineSource<EmbeddingEngine>,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<PromptVectors> {
  const inputs = texts.filter((text) => text.trim() !== '');
  const none = new Float32Array(sketch.conditionLength);
  if (inputs.length === 0) return { vectors: texts.map(() => none), shortened: false };
  const { engine, release } = await encoder.use(signal);
  try {
    const { vectors, truncated } = await engine.embed({ inputs, truncate: true }, signal);
    const read = new Map(inputs.map((text, index) => [text, unit(vectors[index]?.[0] ?? none)]));
    return { vectors: texts.map((text) => read.get(text) ?? none), shortened: truncated.length > 0 };
  } finally {
    release();
  }
}
