import { availableParallelism } from 'node:os';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FlagKey, Settings } from '../config/flags.ts';
import { linuxProcessors, type Processors, threadCount } from '../config/threads.ts';
import { readText } from '../core/read-text.ts';
import type { TextEngine } from '../core/text-service.ts';
import { spawnChild } from '../engines/host/child.ts';
import { installedBuilds } from '../engines/llama/gpu-builds.ts';
import { LlamaHost, type LlamaObserver } from '../engines/llama/host.ts';
import { type LoadOptions, loadOptions, type ModelFile } from '../engines/llama/load-options.ts';
import { hasCudaCompiler } from '../packs/toolkit.ts';
import type { BatchingSettings } from '../queue/batching.ts';
import { type EnginePackages, llamaPackages } from './engine-packages.ts';
import { engineTimer, type HostedEngine } from './lifecycle.ts';

/** The model that comes with Parley, so that it works the minute it is installed. */
export const embeddedModel = fileURLToPath(new URL('../../models/parley-mini.gguf', import.meta.url));

export const textPackages: EnginePackages = (system) => [...llamaPackages(system), '@qvac/fabric'];

export function modelPath(settings: Settings): string | undefined {
  if (settings.nomodel) return undefined;
  return resolve(settings.model?.[0] ?? embeddedModel);
}

export function displayName(path: string): string {
  return basename(path).replace(/\.gguf$/i, '');
}

export type TextEngineProcess = TextEngine & Pick<HostedEngine, 'pid' | 'start' | 'stop'>;

/** How a model is to be loaded. Throws one clear sentence for settings that do not fit its file. */
export function textLoadOptions(
  settings: Settings,
  given: ReadonlySet<FlagKey>,
  { path, shape }: Pick<ModelFile, 'path' | 'shape'>,
  name = displayName(path),
): LoadOptions {
  return loadOptions(settings, {
    model: path,
    name,
    shape,
    threads: engineThreads(0, settings),
    contextSizeGiven: given.has('contextsize'),
  });
}

export function createTextEngine(
  options: LoadOptions,
  { observer, proven }: { readonly observer: LlamaObserver; readonly proven: boolean },
): TextEngineProcess {
  return new LlamaHost(options, {
    spawn: spawnChild,
    entry: fileURLToPath(new URL('../engines/llama/worker/main.js', import.meta.url)),
    startTimer: engineTimer,
    observer,
    proven,
    ...knownBuilds(observer),
  });
}

/** The installed builds of llama.cpp, and whether one can be compiled here. */
export function knownBuilds({ note }: Pick<LlamaObserver, 'note'>) {
  return {
    gpuBuilds: [...installedBuilds((sentence) => note?.(`Not used: ${sentence}`)).keys()],
    canBuild: hasCudaCompiler,
  };
}

/** How many threads an engine should have, where its own flag or the common one says nothing. */
export function engineThreads(threads: number, settings: Settings): number {
  return threadCount(threads || settings.threads, processors());
}

function processors(): Processors {
  const logical = availableParallelism();
  if (process.platform !== 'linux') return { logical };
  return linuxProcessors(logical, readText);
}

/** The settings that decide whether requests share a batch. */
export function batchingSettings(settings: Settings): BatchingSettings {
  const { noshift, smartcontext, smartcache, draftmodel, usemtp, enableguidance } = settings;
  return {
    parallelRequests: settings.parallelrequests,
    batchAll: settings.batchall,
    blocked: !noshift || smartcontext || smartcache > 0 || draftmodel !== '' || usemtp || enableguidance,
  };
}
