import { totalmem } from 'node:os';
import { defaultSettings, type Settings } from '../config/flags.ts';
import type { GpuMemory, GpuUse } from '../core/gpu-memory.ts';
import { availableBytes } from '../core/memory.ts';
import type { Recommendations } from '../core/models-view.ts';
import { gpuBuilds, installedBuilds } from '../engines/llama/gpu-builds.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import type { FreeMemory } from '../engines/llama/memory-fit.ts';
import { defaultMemory } from '../engines/llama/model-shape.ts';
import { isSupportedArchitecture } from '../gguf/architectures.ts';
import { DownloadError } from '../library/download.ts';
import type { ChooseVariant } from '../library/pull-model.ts';
import { recommendedDate, recommendedFor } from '../library/recommended.ts';
import { type HubMachine, hubFiles, readHubModel } from '../models/hub-files.ts';
import { printable } from '../observe/printable.ts';
import type { Terminal } from '../observe/terminal.ts';
import { runProbe } from './probe.ts';

/** The GPUs of this machine. */
export const ownGpus = probedGpus({
  builds: () => [...installedBuilds().keys()],
  probe: runProbe,
  now: () => performance.now(),
});

interface GpuSources {
  readonly builds: () => readonly GpuBuild[];
  readonly probe: typeof runProbe;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** A probe starts a process and may take seconds. */
const freshMs = 60_000;

/** The GPUs of the best build that works here, with their memory within the last minute. */
export function probedGpus({ builds, probe, now }: GpuSources): () => Promise<readonly GpuMemory[]> {
  let known: { readonly at: number; readonly gpus: Promise<readonly GpuMemory[]> } | undefined;
  const look = async (): Promise<readonly GpuMemory[]> => {
    const installed = builds();
    for (const build of gpuBuilds.auto.filter((one) => one !== 'none' && installed.includes(one))) {
      const result = await probe(`llama ${build}`);
      const gpus = result.type === 'loaded' ? (result.devices ?? []).filter(({ graphics }) => graphics) : [];
      if (gpus.length > 0) return gpus.map((gpu) => ({ ...gpu, description: gpu.name }));
    }
    return [];
  };
  return () => {
    if (!known || now() - known.at > freshMs) known = { at: now(), gpus: look() };
    return known.gpus;
  };
}

/** The models that are recommended for this computer. */
export async function recommendedHere(): Promise<Recommendations> {
  const gpuBytes = (await ownGpus()).reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  // A container may have less than the machine; without a limit the function names a huge number or 0.
  const machineBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const models = recommendedFor({ gpuBytes, machineBytes });
  return { date: recommendedDate, memoryBytes: gpuBytes || machineBytes, models };
}

/** What loaded models hold, which they give back when another model is loaded. */
export interface HeldMemory {
  readonly mainBytes: number;
  readonly gpus: readonly GpuUse[];
}

/** This machine, for a server with these settings. */
export function ownMachine(
  settings: Settings = defaultSettings,
  held: () => Promise<HeldMemory> = async () => ({ mainBytes: 0, gpus: [] }),
): HubMachine {
  return {
    memory: async () => freeMemory(settings.usecpu ? [] : await ownGpus(), availableBytes(), await held()),
    options: {
      ...defaultMemory,
      sequences: Math.max(1, settings.parallelrequests),
      shared: settings.parallelrequests > 1 && !settings.usecpu && settings.kvpool !== 0,
      cellPool: settings.kvpool,
      cacheType: settings.quantkv,
      flashAttention: !settings.noflashattention,
      fullSlidingWindow: settings.noswa || settings.deterministic,
      marginBytes: settings.autofitpadding * 2 ** 20,
    },
    contextSize: settings.contextsize,
  };
}

export function freeMemory(gpus: readonly GpuMemory[], mainBytes: number, held: HeldMemory): FreeMemory {
  const left = [...held.gpus];
  const heldOf = (description: string) => {
    const index = left.findIndex((gpu) => gpu.description === description);
    return index < 0 ? 0 : (left.splice(index, 1)[0]?.heldBytes ?? 0);
  };
  return {
    gpuBytes: gpus.map(({ description, freeBytes, totalBytes }) =>
      Math.min(totalBytes, freeBytes + heldOf(description)),
    ),
    mainBytes: Math.min(totalmem(), mainBytes + held.mainBytes),
  };
}

interface ChoiceOptions {
  /** Takes models that cannot be loaded, too. */
  readonly anyway?: boolean;
  /** Gets a line with the quantization and why it was chosen, where none was named. */
  readonly terminal?: Pick<Terminal, 'line'>;
}

/** The file that suits this machine best. Throws for an architecture that cannot be loaded. */
export function chooseHere(machine: HubMachine, { anyway = false, terminal }: ChoiceOptions = {}): ChooseVariant {
  return async (repository, tag, deps) => {
    const model = await readHubModel(repository, deps, tag);
    const architecture = model?.shape?.architecture;
    if (!anyway && architecture !== undefined && !isSupportedArchitecture(architecture))
      throw new DownloadError(
        `its architecture (${printable(architecture)}) cannot be loaded by this version of Parley, so that it is not downloaded. Look for another model, or add --anyway to parley pull`,
      );
    if (!model || tag !== undefined) return model?.usual;
    const { variant, reason } = await hubFiles(model, undefined, machine);
    terminal?.line(`${printable(variant.label)} is taken. ${reason}`);
    return variant;
  };
}
