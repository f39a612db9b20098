import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageEngine, ImageFacts } from '../core/image.ts';
import { unit } from '../core/vectors.ts';
import { findBarePack } from '../engines/bare/pack.ts';
import { type DiffusionOptions, diffusionOptions } from '../engines/image/diffusion/options.ts';
import { sketch, sketchFacts } from '../engines/image/facts.ts';
import { type ConditionedEngine, ImageHost, type ImageOptions, type PromptVectors } from '../engines/image/host.ts';
import { builtInEmbedding } from './embedding-models.ts';
import { engineConsole } from './engine-console.ts';
import { type EnginePackages, onnxPackage } from './engine-packages.ts';
import {
  builtIn,
  bytesOf,
  type ImageModel,
  isMissing,
  type ModelTools,
  type WorkerModel,
  workerSpec,
} from './task-model.ts';
import { engineThreads } from './text-engine.ts';

/** The built-in model with an upscaler, measured. */
const sketchBytes = 400 * 2 ** 20;
export const sketchPath = fileURLToPath(new URL('../../models/parley-sketch.onnx', import.meta.url));

/** The model of `--sdmodel`, or the built-in one. */
export function imageModel(settings: Settings, tools: ModelTools): ImageModel {
  return settings.sdmodel === '' ? sketchModel(settings, tools) : diffusionModel(settings, tools);
}

function sketchModel(settings: Settings, { terminal }: ModelTools): ImageModel {
  return {
    given: false,
    encoder: builtInEmbedding(settings, terminal),
    facts: sketchFacts(sketchPath),
    spec: imageSpec<ImageOptions>(sketch.name, settings, terminal, {
      ...builtIn,
      worker: new URL('../engines/image/worker/main.js', import.meta.url),
      options: () => ({ path: sketchPath, threads: engineThreads(settings.sdthreads, settings) }),
      need: async () => sketchBytes,
    }),
  };
}

/** Memory in addition to the weights, for an image of the default size. */
const workingBytes = 700 * 2 ** 20;
/** Size of weights of 16 bits after `--sdquant` 0, 1 and 2. */
const quantizedShares = [1, 0.55, 0.3] as const;

/** The model of `--sdmodel`, by the engine of the pack. */
export function diffusionModel(
  settings: Settings,
  { terminal }: Pick<ModelTools, 'terminal'>,
  find: () => unknown = () => findBarePack('diffusion'),
): ImageModel {
  const options = diffusionOptions(settings, engineThreads(settings.sdthreads, settings));
  return {
    given: true,
    // The settings are valid without the pack: everything else is served, and image requests get an error that names the pack.
    optional: isMissing(find),
    available: () => !isMissing(find),
    facts: options.facts,
    spec: imageSpec(options.facts.name, settings, terminal, {
      worker: new URL('../engines/image/diffusion/worker/main.js', import.meta.url),
      options: () => options,
      need: () => bytesFor(options, quantizedShares[settings.sdquant as 0 | 1 | 2]),
    }),
  };
}

async function bytesFor({ files, upscaler }: DiffusionOptions, share: number): Promise<number> {
  const paths = [...Object.values(files as unknown as Record<string, string>), ...(upscaler ? [upscaler] : [])];
  return (await bytesOf(paths)) * share + workingBytes;
}

export const imagePackages: EnginePackages = (system) => [onnxPackage(system), '@qvac/diffusion-cpp'];

function imageSpec<Options>(
  name: string,
  { debugmode }: Settings,
  terminal: ModelTools['terminal'],
  own: Pick<WorkerModel<unknown, Options, ImageFacts>, 'worker' | 'options' | 'need'> & Partial<typeof builtIn>,
) {
  const observer = engineConsole<ImageFacts>('image', name, terminal, {
    debug: debugmode === 1,
    loaded: () => `Loaded ${name} for pictures.`,
    advice: 'If this goes on, --debugmode shows what the engine says.',
    packages: imagePackages,
  });
  return workerSpec({ ...own, name, kind: 'image', observer, host: (parts) => new ImageHost<Options>(parts) });
}

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
    generate: async function* (request, signal) {
      const read = await readPrompts(encoder, [request.prompt, request.negativePrompt], signal);
      const use = await source.use(signal);
      try {
        yield* use.engine.generate(request, signal, { read });
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
