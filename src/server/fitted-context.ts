import { flagOf } from '../config/flags.ts';
import type { Running } from '../config/load.ts';
import { type ModelFile, sharesCells } from '../engines/llama/load-options.ts';
import {
  auxiliaryFiles,
  type ContextShares,
  defaultShares,
  type FreeMemory,
  largestContext,
} from '../engines/llama/memory-fit.ts';
import { textLoadOptions } from '../models/text-engine.ts';

/** Other models are loaded next to this one, and a longer context must not evict them. */
const routerShares: ContextShares = { gpus: defaultShares.gpus / 2, main: defaultShares.main / 2 };
/** A short context is of no use to an agent, which therefore gets most of the memory. */
const agentShares: ContextShares = { gpus: 9 / 10, main: 1 / 2 };

/**
 * The context of a model without `--contextsize`: the default, or as much more as there is room for besides the weights, up to the
 * training length. `reason` is a sentence, and undefined where explicit placement or positions leave nothing to choose. `memory` is called
 * only if there is a choice, because looking for GPUs starts a process.
 */
export async function fittedContext(
  { settings, given }: Running,
  file: ModelFile,
  memory: () => Promise<FreeMemory>,
): Promise<{ readonly size: number; readonly reason?: string }> {
  const options = textLoadOptions(settings, given, file);
  const { contextSize, gpuLayers, backend, memoryMarginMegabytes } = options;
  const { trainedContext } = file.shape;
  const isPlaced = (gpuLayers !== 'auto' && gpuLayers > 0) || !options.offloadCache;
  const isStretched = options.rope.scale > 0 || options.trainedContextOverride > 0;
  if (given.has('contextsize') || isPlaced || isStretched || trainedContext <= contextSize)
    return { size: contextSize };
  const { gpuBytes: allGpus, mainBytes } = await memory();
  const gpus = gpuLayers === 0 || backend === 'cpu' ? [] : allGpus;
  const marginBytes = memoryMarginMegabytes * 2 ** 20;
  const gpuBytes = gpus.reduce((sum, bytes) => sum + Math.max(0, bytes - marginBytes), 0);
  const where = gpus.length > 0 ? 'on the graphics cards' : 'in memory';
  const sequences = options.sequences + (options.guidance ? 1 : 0);
  const { projectorBytes, draft } = await auxiliaryFiles(options);
  // A draft model has a cache of the same length.
  const cacheBytesPerToken = file.shape.cacheBytesPerToken + (draft?.cacheBytesPerToken ?? 0);
  const shape = { ...file.shape, cacheBytesPerToken };
  const free = { freeBytes: mainBytes, gpuBytes, auxiliaryBytes: projectorBytes + (draft?.sizeBytes ?? 0) };
  // The sequences of a draft model share no cells.
  const shared = draft === undefined && sharesCells(options, gpus.length > 0);
  const { max } = flagOf('contextsize') as { readonly max: number };
  const fitting = (limit: number, shares?: ContextShares) =>
    // GPUs without room would count as none.
    gpus.length > 0 && gpuBytes === 0
      ? contextSize
      : largestContext(shape, { ...options, sequences, shared }, free, limit, shares);
  const defaultSize = fitting(max, settings.routermode ? routerShares : defaultShares);
  const size = Math.max(defaultSize, fitting(settings.targetcontext, agentShares));
  const trained = size < trainedContext ? `; it was trained for ${trainedContext}` : '';
  const reason =
    size > contextSize
      ? `Context ${size}, because there is room for it ${where} beside the model${trained}.`
      : `Context ${size}, because there is no room for more ${where} beside the model${trained}. --contextsize sets another size.`;
  return { size, reason };
}
