import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { flagOf, type Settings } from '../config/flags.ts';
import type { Running } from '../config/load.ts';
import { largestContext } from '../engines/llama/largest-context.ts';
import type { ModelFile } from '../engines/llama/load-options.ts';
import type { FreeMemory } from '../engines/llama/model-fit.ts';
import { filesBelow } from '../library/find-models.ts';
import { projectorFor } from '../library/variants.ts';
import { textLoadOptions } from '../models/text-engine.ts';

/** What a model that is switched to can use. */
export interface ModelRoom {
  /** With what the present model gives back. */
  readonly memory: () => Promise<FreeMemory>;
  /** Whether pictures and sound can be used. */
  readonly hasVision: () => boolean;
  readonly line: (text: string) => void;
}

/** The repository of a file that was downloaded from the hub, by the name of its folder: `owner--name`. */
export function downloadOf(path: string): { readonly id: string; readonly folder: string } | undefined {
  for (let folder = dirname(path), up = 0; up < 3; folder = dirname(folder), up += 1) {
    const match = /^(?!models--)(?<owner>.+?)--(?<name>.+)$/.exec(basename(folder))?.groups;
    if (match) return { id: `${match.owner}/${match.name}`, folder };
  }
  return undefined;
}

/** The settings of a downloaded model: its projector, and a context as large as fits. Explicit settings stay. */
export async function downloadedSettings(running: Running, file: ModelFile, room: ModelRoom): Promise<Settings> {
  const { settings } = running;
  const download = downloadOf(file.path);
  if (!download) return settings;
  const projector = settings.mmproj === '' ? await projectorOf(file.path, download.folder) : undefined;
  if (projector !== undefined && !room.hasVision())
    room.line('This model understands pictures or sound, too, with: parley pack add vision');
  const mmproj = projector !== undefined && room.hasVision() ? projector : settings.mmproj;
  const contextsize = await contextFor(running, file, mmproj, room);
  return { ...settings, mmproj, contextsize };
}

async function projectorOf(path: string, folder: string): Promise<string | undefined> {
  const within = (file: string) => ({ path: relative(folder, file).split(sep).join('/'), bytes: 0 });
  const files = (await filesBelow(folder, /\.gguf$/i)).map(within);
  const variant = { label: '', parts: [within(path)], bytes: 0, whole: true };
  const projector = projectorFor(files, variant);
  return projector && join(folder, projector.path);
}

async function contextFor(
  { settings, given }: Running,
  file: ModelFile,
  mmproj: string,
  room: ModelRoom,
): Promise<number> {
  const options = textLoadOptions(settings, given, file);
  const { contextSize, gpuLayers, backend, memoryMarginMegabytes } = options;
  // Several models share the memory, and explicit placement or positions leave nothing to choose.
  const isExplicit = given.has('contextsize') || (gpuLayers !== 'auto' && gpuLayers > 0) || !options.offloadCache;
  if (settings.routermode || isExplicit || options.rope.scale > 0 || options.trainedContextOverride > 0)
    return contextSize;
  const memory = await room.memory();
  const cards = gpuLayers === 0 || backend === 'cpu' ? [] : memory.cardBytes;
  const marginBytes = memoryMarginMegabytes * 2 ** 20;
  const cardBytes = cards.reduce((sum, bytes) => sum + Math.max(0, bytes - marginBytes), 0);
  // Cards without room would count as none.
  if (cards.length > 0 && cardBytes === 0) return contextSize;
  const besideBytes = mmproj === '' ? 0 : ((await stat(mmproj).catch(() => undefined))?.size ?? 0);
  const { max } = flagOf('contextsize') as { readonly max: number };
  const sequences = options.sequences + (options.guidance ? 1 : 0);
  const free = { freeBytes: memory.mainBytes, cardBytes, besideBytes };
  const size = largestContext(file.shape, { ...options, sequences }, free, max);
  if (size > contextSize) {
    const where = cards.length > 0 ? 'on the graphics cards' : 'in memory';
    const trained = size < file.shape.trainedContext ? `; it was trained for ${file.shape.trainedContext}` : '';
    room.line(`Context ${size}, because there is room for it ${where} beside the model${trained}.`);
  }
  return size;
}
