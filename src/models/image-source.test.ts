import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageEvent } from '../core/image.ts';
import { sketch, sketchFacts } from '../engines/image/facts.ts';
import type { ConditionedEngine, PromptVectors } from '../engines/image/host.ts';
import { imageRequest } from '../engines/image/testing/request.ts';
import { specsOf, type TaskModels, taskModels, taskSources } from './engine-kinds.ts';
import { encodedImageSource, imageModel } from './image-model.ts';
import { Registry } from './registry.ts';

const never = new AbortController().signal;

function source<Engine>(name: string, engine: Engine, log: string[]): EngineSource<Engine> {
  return {
    name,
    use: async () => {
      log.push(`${name} used`);
      return { engine, release: () => log.push(`${name} released`) };
    },
    peek: () => engine,
    state: () => ({ type: 'ready' }),
  };
}

/** Each text becomes as many numbers as the network wants, the first of them its length. */
function world({ tooLong = '' } = {}) {
  const log: string[] = [];
  const seen: (PromptVectors | undefined)[] = [];
  const encoder: Pick<EmbeddingEngine, 'embed'> = {
    embed: async ({ inputs, truncate }) => {
      log.push(`embed ${inputs.join('|')} ${truncate}`);
      const vectors = inputs.map((text) => {
        const vector = new Float32Array(sketch.conditionLength);
        vector.set([3 * text.length, 4 * text.length]);
        return [vector];
      });
      const truncated = inputs.flatMap((text, index) => (text === tooLong ? [index] : []));
      return { vectors, tokens: inputs.map(() => 1), truncated, pooling: 'mean' };
    },
  };
  const engine: ConditionedEngine = {
    facts: () => sketchFacts('/m'),
    generate: async function* (_request, _signal, { read } = {}): AsyncGenerator<ImageEvent> {
      seen.push(read);
      yield { type: 'progress', step: 1, steps: 1 };
    },
    upscale: async () => Uint8Array.of(5),
  };
  const whole = encodedImageSource(source('image', engine, log), source('encoder', encoder as EmbeddingEngine, log));
  return {
    log,
    seen,
    whole,
    generate: async (prompt: string, negativePrompt = '') => {
      const { engine: own, release } = await whole.use();
      for await (const _ of own.generate(imageRequest({ prompt, negativePrompt }), never));
      release();
    },
  };
}

/** A model of 100 bytes. */
function specOf(kind: string, engine: object) {
  const lifecycle = {
    engine,
    start: () => undefined,
    stop: async () => undefined,
    state: () => ({ type: 'ready' }) as const,
    settled: async () => undefined,
    bytes: () => 100,
  };
  return { name: kind, kind, need: async () => 100, make: () => lifecycle };
}

/** A registry in which each load evicts the other engine, once it is idle. */
function registryOf(): Registry {
  return new Registry({
    memoryBudget: () => ({ bytes: 150, count: 2 }),
    startTimer: () => ({ cancel: () => undefined }),
    now: () => 0,
    defaultKeepMs: () => Number.POSITIVE_INFINITY,
  });
}

const start = (vector: Float32Array | undefined) =>
  [...(vector ?? [])].slice(0, 3).map((one) => Number(one.toFixed(2)));

describe('imageSource: prompts', () => {
  test('are encoded by the embedding engine as unit vectors, and the engine is released at once', async () => {
    const { generate, log, seen } = world();
    await generate('apple', 'pear!');
    expect(log).toEqual(['encoder used', 'embed apple|pear! true', 'encoder released', 'image used', 'image released']);
    expect(seen[0]?.vectors.map(start)).toEqual([
      [0.6, 0.8, 0],
      [0.6, 0.8, 0],
    ]);
    expect(seen[0]?.shortened).toBe(false);
  });

  test('empty prompts are not encoded', async () => {
    const { generate, log, seen } = world();
    await generate('apple', '  ');
    expect(log[1]).toBe('embed apple true');
    expect(seen[0]?.vectors.map(start)).toEqual([
      [0.6, 0.8, 0],
      [0, 0, 0],
    ]);
    await generate('', '');
    expect(log.filter((line) => line.startsWith('embed')).length).toBe(1);
    expect(seen[1]?.vectors.every((vector) => vector.length === sketch.conditionLength)).toBe(true);
  });

  test('an encoder that fails rejects the request, and the image engine is not loaded', async () => {
    const log: string[] = [];
    const encoder = { embed: () => Promise.reject(new Error('it cannot read')) } as unknown as EmbeddingEngine;
    const engine = {} as ConditionedEngine;
    const whole = encodedImageSource(source('image', engine, log), source('encoder', encoder, log));
    const events = (await whole.use()).engine.generate(imageRequest({ prompt: 'a' }), never);
    await expect(events[Symbol.asyncIterator]().next()).rejects.toThrow('it cannot read');
    expect(log).toEqual(['encoder used', 'encoder released']);
  });

  test('reports truncated prompts', async () => {
    const { generate, seen } = world({ tooLong: 'pear' });
    await generate('apple', 'pear');
    expect(seen[0]?.shortened).toBe(true);
  });
});

describe('imageSource: engine', () => {
  test('upscales without an encoder', async () => {
    const { whole, log } = world();
    const { engine } = await whole.use();
    const request = { image: Uint8Array.of(), upscaler: '', width: 1, height: 1 };
    expect(await engine.upscale(request, never)).toEqual(Uint8Array.of(5));
    expect(log).toEqual(['image used', 'image released']);
  });

  test('one that encodes its prompts is held from use to release, and no encoder is loaded', async () => {
    const log: string[] = [];
    const engine = {
      generate: async function* (): AsyncGenerator<ImageEvent> {
        log.push('drawn');
        yield { type: 'progress', step: 1, steps: 1 };
      },
    };
    const models = { image: { spec: specOf('image', engine), given: false, facts: sketchFacts('/m') } };
    const sources = taskSources(registryOf(), models as unknown as TaskModels);
    const use = await sources.image?.use();
    for await (const _ of use?.engine.generate(imageRequest(), never) ?? []);
    use?.release();
    expect([log, Object.keys(sources)]).toEqual([['drawn'], ['image']]);
  });

  test('facts are readable without a load', () => {
    const { whole, log } = world();
    expect(whole.peek()?.facts()?.nativeSize).toBe(64);
    expect([whole.name, whole.state().type, log]).toEqual(['image', 'ready', []]);
  });
});

describe('imageModel: built-in', () => {
  const terminal = { line: () => undefined } as never;
  const { spec, given, facts } = imageModel(defaultSettings, terminal);

  test('is loaded at its first use, is auxiliary, and is unloaded when idle', async () => {
    expect(given).toBe(false);
    expect(spec).toMatchObject({ name: 'parley-sketch (built-in)', kind: 'image', auxiliary: true, keepMs: 600_000 });
    expect(await spec.need()).toBeGreaterThan(100 * 2 ** 20);
  });

  test('has its facts before it is loaded', () => {
    expect(facts).toMatchObject({ nativeSize: 64, samplers: ['Euler', 'Euler a', 'Heun', 'Midpoint'] });
    expect(facts.path).toMatch(/models.parley-sketch\.onnx$/);
    expect(facts.upscalers.map(({ name }) => name)).toContain('ESRGAN-slim 4x');
  });

  test('make() starts no process', () => {
    const lifecycle = spec.make();
    expect(lifecycle.state()).toEqual({ type: 'loading', progress: 0 });
    expect(lifecycle.engine.facts()).toBeUndefined();
  });

  test('its prompts are encoded by its own encoder, whatever --embeddingsmodel names', async () => {
    const text = { name: 'text', file: undefined };
    const settings = { ...defaultSettings, embeddingsmodel: '/other.gguf' };
    const models = await taskModels(settings, { terminal, text });
    expect([models.embedding?.spec.name, models.image?.encoder?.spec.name]).toEqual(['other', 'all-MiniLM-L6-v2']);
    expect(specsOf(models).map(({ name }) => name)).toContain('all-MiniLM-L6-v2');
  });
});

describe('imageSource: memory for one engine', () => {
  function tight() {
    const vector = new Float32Array(sketch.conditionLength).fill(1);
    const encoder = {
      embed: async ({ inputs }: { readonly inputs: readonly string[] }) => ({
        vectors: inputs.map(() => [vector]),
        truncated: [],
      }),
    };
    const image = {
      facts: () => sketchFacts('/m'),
      generate: async function* (): AsyncGenerator<ImageEvent> {
        yield { type: 'progress', step: 1, steps: 1 };
      },
    };
    const models = {
      image: {
        spec: specOf('image', image),
        given: false,
        encoder: { spec: specOf('embedding', encoder), given: false },
        facts: sketchFacts('/m'),
      },
    } as unknown as TaskModels;
    return taskSources(registryOf(), models);
  }

  test('draws without a deadlock: the encoder evicts the image engine while the prompt is encoded', async () => {
    const { image } = tight();
    for (let round = 0; round < 2; round++) {
      const use = await image?.use();
      const events: string[] = [];
      for await (const { type } of use?.engine.generate(imageRequest({ prompt: 'a' }), never) ?? []) events.push(type);
      use?.release();
      expect(events).toEqual(['progress']);
    }
  });
});
