import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import { spawnChild } from '../engines/host/child.ts';
import { type DiffusionOptions, diffusionOptions } from '../engines/image/diffusion/options.ts';
import { findPack } from '../engines/image/diffusion/pack.ts';
import { ImageHost } from '../engines/image/host.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLifecycle } from './engine-lifecycle.ts';
import { imageObserver } from './image-observer.ts';
import type { TaskModels } from './kinds.ts';
import { engineThreads, engineTimer } from './text-engine.ts';

/** What is computed beside the weights, for a picture of the usual size. */
const workingBytes = 700 * 2 ** 20;
/** What is left of weights of 16 bits, by `--sdquant`. */
const shares = [1, 0.55, 0.3] as const;

/** The model of `--sdmodel`, by the engine of the pack. */
export function diffusionModel(
  settings: Settings,
  terminal: Pick<Terminal, 'line'>,
  find: typeof findPack = findPack,
): NonNullable<TaskModels['image']> {
  const options = diffusionOptions(settings, engineThreads(settings.sdthreads, settings));
  const { name } = options.facts;
  let proven = false;
  const make = () => {
    const host = new ImageHost<DiffusionOptions>({
      entry: fileURLToPath(new URL('../engines/image/diffusion/worker/main.js', import.meta.url)),
      options,
      readsPrompts: true,
      spawn: spawnChild,
      startTimer: engineTimer,
      proven,
      observer: imageObserver(name, terminal, settings),
    });
    return new EngineLifecycle(host, () => {
      proven = true;
    });
  };
  return {
    given: true,
    // Without the pack nothing is wrong with the settings: all else is served, and whoever wants a picture hears what is missing.
    optional: isMissing(find),
    facts: options.facts,
    spec: { name, kind: 'image', need: () => bytesFor(options, shares[settings.sdquant as 0 | 1 | 2]), make },
  };
}

function isMissing(find: typeof findPack): boolean {
  try {
    find();
    return false;
  } catch {
    return true;
  }
}

async function bytesFor({ files, upscaler }: DiffusionOptions, share: number): Promise<number> {
  const paths = [...Object.values(files as unknown as Record<string, string>), ...(upscaler ? [upscaler] : [])];
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return sizes.reduce((sum, size) => sum + size, 0) * share + workingBytes;
}
