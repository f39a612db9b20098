import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { ImageFacts } from '../core/image.ts';
import { findBarePack } from '../engines/bare/pack.ts';
import { type DiffusionOptions, diffusionOptions } from '../engines/image/diffusion/options.ts';
import { sketch, sketchFacts } from '../engines/image/facts.ts';
import { ImageHost } from '../engines/image/host.ts';
import { builtInEmbedding } from './embedding-models.ts';
import { engineConsole } from './engine-console.ts';
import { type EnginePackages, onnxPackage } from './engine-packages.ts';
import { lifecycles } from './lifecycle.ts';
import { remoteDrawing, remoteImage } from './remote-image-models.ts';
import { builtIn, bytesOf, type ImageModel, isMissing, type ModelTools } from './task-model.ts';
import { engineThreads } from './text-engine.ts';

/** The built-in model with an upscaler, measured. */
const sketchBytes = 400 * 2 ** 20;
export const sketchPath = fileURLToPath(new URL('../../models/parley-sketch.onnx', import.meta.url));

/** The model of `--remote`, `--sdremote` or `--sdmodel`, or the built-in one. */
export function imageModel(settings: Settings, tools: ModelTools): ImageModel {
  const { terminal } = tools;
  const remote = remoteImage(settings, terminal);
  if (remote) return remote;
  if (settings.sdremote) return remoteDrawing(settings.sdremote, terminal);
  return settings.sdmodel === '' ? sketchModel(settings, tools) : diffusionModel(settings, tools);
}

function sketchModel(settings: Settings, { terminal }: ModelTools): ImageModel {
  const { name } = sketch;
  const entry = fileURLToPath(new URL('../engines/image/worker/main.js', import.meta.url));
  const options = { path: sketchPath, threads: engineThreads(settings.sdthreads, settings) };
  const observer = imageConsole(name, settings, terminal);
  const make = lifecycles('image', (parts) => new ImageHost({ ...parts, entry, options, observer }));
  return {
    given: false,
    encoder: builtInEmbedding(settings, terminal),
    facts: sketchFacts(sketchPath),
    spec: { name, kind: 'image', ...builtIn, need: async () => sketchBytes, make },
  };
}

/** Memory beside the weights, for a picture of the default size. */
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
  const { name } = options.facts;
  const entry = fileURLToPath(new URL('../engines/image/diffusion/worker/main.js', import.meta.url));
  const observer = imageConsole(name, settings, terminal);
  const make = lifecycles('image', (parts) => new ImageHost<DiffusionOptions>({ ...parts, entry, options, observer }));
  return {
    given: true,
    // The settings are valid without the pack: everything else is served, and image requests get an error that names the pack.
    optional: isMissing(find),
    available: () => !isMissing(find),
    facts: options.facts,
    spec: { name, kind: 'image', need: () => bytesFor(options, quantizedShares[settings.sdquant as 0 | 1 | 2]), make },
  };
}

async function bytesFor({ files, upscaler }: DiffusionOptions, share: number): Promise<number> {
  const paths = [...Object.values(files as unknown as Record<string, string>), ...(upscaler ? [upscaler] : [])];
  return (await bytesOf(paths)) * share + workingBytes;
}

export const imagePackages: EnginePackages = (system) => [onnxPackage(system), '@qvac/diffusion-cpp'];

function imageConsole(name: string, { debugmode }: Settings, terminal: ModelTools['terminal']) {
  return engineConsole<ImageFacts>('image', name, terminal, {
    debug: debugmode === 1,
    loaded: () => `Loaded ${name} for pictures.`,
    advice: 'If this goes on, --debugmode shows what the engine says.',
    packages: imagePackages,
  });
}
