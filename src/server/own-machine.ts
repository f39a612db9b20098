import { totalmem } from 'node:os';
import { defaultSettings, type Settings } from '../config/flags.ts';
import type { CardMemory, CardUse } from '../core/card-memory.ts';
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

/** The graphics cards of this machine. */
export const ownCards = probedCards({
  builds: () => [...installedBuilds().keys()],
  probe: runProbe,
  now: () => performance.now(),
});

interface CardSources {
  readonly builds: () => readonly GpuBuild[];
  readonly probe: typeof runProbe;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** A probe starts a process and may take seconds. */
const freshMs = 60_000;

/** The graphics cards of the best build that works here, with their memory within the last minute. */
export function probedCards({ builds, probe, now }: CardSources): () => Promise<readonly CardMemory[]> {
  let known: { readonly at: number; readonly cards: Promise<readonly CardMemory[]> } | undefined;
  const look = async (): Promise<readonly CardMemory[]> => {
    const installed = builds();
    for (const build of gpuBuilds.auto.filter((one) => one !== 'none' && installed.includes(one))) {
      const result = await probe(`llama ${build}`);
      const cards = result.type === 'loaded' ? (result.devices ?? []).filter(({ graphics }) => graphics) : [];
      if (cards.length > 0) return cards.map((card) => ({ ...card, description: card.name }));
    }
    return [];
  };
  return () => {
    if (!known || now() - known.at > freshMs) known = { at: now(), cards: look() };
    return known.cards;
  };
}

/** The models that are recommended for this computer. */
export async function recommendedHere(): Promise<Recommendations> {
  const cardBytes = (await ownCards()).reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  // A container may have less than the machine; without a limit the function names a huge number or 0.
  const machineBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const models = recommendedFor({ cardBytes, machineBytes });
  return { date: recommendedDate, memoryBytes: cardBytes || machineBytes, models };
}

/** What loaded models hold, which they give back when another model is loaded. */
export interface HeldMemory {
  readonly mainBytes: number;
  readonly cards: readonly CardUse[];
}

/** This machine, for a server with these settings. */
export function ownMachine(
  settings: Settings = defaultSettings,
  held: () => Promise<HeldMemory> = async () => ({ mainBytes: 0, cards: [] }),
): HubMachine {
  return {
    memory: async () => freeMemory(settings.usecpu ? [] : await ownCards(), availableBytes(), await held()),
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

export function freeMemory(cards: readonly CardMemory[], mainBytes: number, held: HeldMemory): FreeMemory {
  const left = [...held.cards];
  const heldOf = (description: string) => {
    const index = left.findIndex((card) => card.description === description);
    return index < 0 ? 0 : (left.splice(index, 1)[0]?.heldBytes ?? 0);
  };
  return {
    cardBytes: cards.map(({ description, freeBytes, totalBytes }) =>
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
