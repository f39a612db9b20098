import { totalmem } from 'node:os';
import { defaultSettings, type Settings } from '../config/flags.ts';
import type { CardMemory, CardUse } from '../core/card-memory.ts';
import { availableBytes } from '../core/memory.ts';
import { installedBuilds } from '../engines/llama/gpu-builds.ts';
import type { FreeMemory } from '../engines/llama/memory-fit.ts';
import { defaultMemory } from '../engines/llama/model-shape.ts';
import { isSupportedArchitecture } from '../gguf/architectures.ts';
import { DownloadError } from '../library/download.ts';
import type { ChooseVariant } from '../library/pull-model.ts';
import { type HubMachine, hubFiles, readHubModel } from '../models/hub-files.ts';

import { printable } from '../observe/printable.ts';
import type { Terminal } from '../observe/terminal.ts';
import { runProbe } from './probe.ts';
import { probedCards } from './probed-cards.ts';

/** The graphics cards of this machine. */
export const ownCards = probedCards({
  builds: () => [...installedBuilds().keys()],
  probe: runProbe,
  now: () => performance.now(),
});

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
  return async (repository, tag, parts) => {
    const model = await readHubModel(repository, parts, tag);
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
