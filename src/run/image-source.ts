import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageEngine } from '../core/image.ts';
import { unit } from '../core/vectors.ts';
import { sketch } from '../engines/image/facts.ts';
import type { Condition, ConditionedEngine } from '../engines/image/host.ts';

/** An engine for pictures whose prompts another engine reads; that one is loaded too when a picture is wanted. */
export function imageSource(
  kept: EngineSource<ConditionedEngine>,
  encoder: EngineSource<EmbeddingEngine>,
): EngineSource<ImageEngine> {
  const condition = conditionBy(encoder);
  const whole = (engine: ConditionedEngine): ImageEngine => ({
    facts: () => engine.facts(),
    draw: (request, signal) => engine.draw(request, signal, condition),
    upscale: (request, signal) => engine.upscale(request, signal),
  });
  return {
    ...kept,
    use: async (signal) => {
      const { engine, release } = await kept.use(signal);
      return { engine: whole(engine), release };
    },
    peek: () => {
      const engine = kept.peek();
      return engine && whole(engine);
    },
  };
}

/** No text is no wish, and needs nobody who reads it. */
function conditionBy(encoder: EngineSource<EmbeddingEngine>): Condition {
  return async (texts, signal) => {
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
  };
}
