import { stat } from 'node:fs/promises';
import { type CardNeed, namedCards } from '../../core/card-memory.ts';
import { expectedContextSize, type LoadOptions, readModelFile, sharesCells } from './load-options.ts';
import { type ModelShape, modelMemory } from './model-shape.ts';

type SizedOptions = Pick<
  LoadOptions,
  | 'shape'
  | 'contextSize'
  | 'contextSizeGiven'
  | 'trainedContextOverride'
  | 'metadataOverrides'
  | 'sequences'
  | 'guidance'
  | 'microBatchSize'
  | 'offloadCache'
  | 'cacheType'
  | 'flashAttention'
  | 'fullSlidingWindow'
  | 'cellPool'
  | 'loadMode'
>;

/** What is loaded with the model: a projector by its size, a draft model by its shape, as which layers of the model itself count too. */
interface BesideModel {
  readonly projectorBytes: number;
  readonly draft: Pick<ModelShape, 'sizeBytes' | 'cacheBytesPerToken' | 'compute'> | undefined;
}

/** The files that flags load with the model. A file that cannot be read is reported when it is loaded. */
export async function besideModel(
  options: Pick<LoadOptions, 'projector' | 'draft' | 'deterministic' | 'shape'>,
): Promise<BesideModel> {
  const { projector, draft, deterministic } = options;
  const projectorStats = projector?.useGpu ? await stat(projector.path).catch(() => undefined) : undefined;
  const drafter = draft?.model && draft.model.gpuLayers !== 0 && !deterministic ? draft.model.path : undefined;
  const file = drafter === undefined ? undefined : await readModelFile(drafter).catch(() => undefined);
  const shape = draft?.prediction && !deterministic ? predictionShape(file?.shape, options.shape) : file?.shape;
  return { projectorBytes: projectorStats?.size ?? 0, draft: shape };
}

/** Layers for multi-token prediction, of a file of their own or of the model, in whose size they are. */
function predictionShape(file: ModelShape | undefined, model: ModelShape): BesideModel['draft'] {
  const { prediction, ...shape } = file ?? { ...model, sizeBytes: 0 };
  return prediction ? { ...shape, cacheBytesPerToken: prediction.cacheBytesPerToken } : file;
}

const nothingBeside: BesideModel = { projectorBytes: 0, draft: undefined };

/**
 * The GPU memory of a model. Weights and cache are divided by layers; the rest is needed with the first layer: compute buffers, the
 * projector, the draft model, whose sequences share no cells.
 */
export function placedBytes(options: SizedOptions, beside: BesideModel = nothingBeside) {
  const { shape, guidance, offloadCache } = options;
  const sizes = { ...options, contextSize: expectedContextSize(options) };
  const sequences = options.sequences + (guidance ? 1 : 0);
  const { weightBytes, cacheBytes, computeBytes } = modelMemory(shape, {
    ...sizes,
    sequences,
    shared: sharesCells(options, true),
  });
  const draft = beside.draft && modelMemory(beside.draft, { ...sizes, cacheType: 'f16' });
  const draftBytes = draft ? draft.weightBytes + draft.computeBytes + (offloadCache ? draft.cacheBytes : 0) : 0;
  return {
    modelBytes: weightBytes - (shape.hostBytes ?? 0),
    cacheBytes: offloadCache ? cacheBytes : 0,
    fixedBytes: computeBytes + beside.projectorBytes + draftBytes,
  };
}

export interface Fit {
  readonly modelBytes: number;
  readonly cacheBytes: number;
  readonly fixedBytes: number;
  readonly layers: number;
  /** Free memory of each GPU. */
  readonly freeBytes: readonly number[];
  /** Memory to leave free on each GPU. */
  readonly marginBytes: number;
  /** The shares of `--tensor_split`; without them layers are divided by free memory. */
  readonly split: readonly number[];
}

/** How many layers fit with their share of the cache. The output layer counts as one more. */
export function layersThatFit(fit: Fit): number {
  const { modelBytes, cacheBytes, fixedBytes, layers } = fit;
  const perLayer = (modelBytes + cacheBytes) / (layers + 1);
  const fitting = Math.floor((usableBytes(fit) - fixedBytes) / perLayer);
  return Math.max(0, Math.min(layers + 1, Number.isNaN(fitting) ? 0 : fitting));
}

type Cards = Pick<Fit, 'freeBytes' | 'marginBytes' | 'split'>;

/**
 * Whether each sequence can have cells of its own on these GPUs, which are faster than shared ones: if the whole model fits with
 * them, and they take at most half of the memory beside it.
 */
export function hasRoomForOwnCells(
  options: SizedOptions & Pick<LoadOptions, 'sharesCards'>,
  cards: Cards,
  beside?: BesideModel,
): boolean {
  if (options.cellPool >= 0 || options.sharesCards) return false;
  const { layers } = options.shape;
  const { cacheBytes, ...bytes } = placedBytes({ ...options, cellPool: 0 }, beside);
  return layersThatFit({ ...bytes, cacheBytes: 2 * cacheBytes, layers, ...cards }) === layers + 1;
}

/** With explicit shares, the GPU that is full first limits all of them. */
function usableBytes({ freeBytes, marginBytes, split }: Fit): number {
  const usable = freeBytes.map((free) => Math.max(0, free - marginBytes));
  const whole = split.slice(0, usable.length).reduce((sum, share) => sum + share, 0);
  if (whole === 0) return usable.reduce((sum, bytes) => sum + bytes, 0);
  return Math.min(
    ...usable.map((bytes, index) =>
      (split[index] ?? 0) > 0 ? (bytes * whole) / (split[index] ?? 1) : Number.POSITIVE_INFINITY,
    ),
  );
}

type PlacementOptions = SizedOptions & Pick<LoadOptions, 'backend' | 'gpuLayers' | 'devices' | 'memoryMarginMegabytes'>;

/** The GPU memory of a model with all of its layers, or with those that its flags name; undefined without GPUs. */
export function cardNeed(options: PlacementOptions, beside?: BesideModel): CardNeed | undefined {
  const { backend, gpuLayers, devices, shape } = options;
  if (backend === 'cpu' || gpuLayers === 0) return undefined;
  const { modelBytes, cacheBytes, fixedBytes } = placedBytes(options, beside);
  const share = gpuLayers === 'auto' ? 1 : Math.min(1, gpuLayers / (shape.layers + 1));
  const margin = gpuLayers === 'auto' ? options.memoryMarginMegabytes * 2 ** 20 : 0;
  return { bytes: Math.ceil((modelBytes + cacheBytes) * share + fixedBytes + margin), devices };
}

type GpuOptions = Pick<LoadOptions, 'devices' | 'tensorSplit' | 'mainGpu'>;

/** Which GPU named by flags does not exist, as a sentence; undefined if all exist. */
export function placementProblem(
  { devices, tensorSplit, mainGpu }: GpuOptions,
  all: readonly { readonly name: string; readonly description: string }[],
): string | undefined {
  const here = `there ${all.length === 1 ? 'is' : 'are'} ${all.map(({ name, description }, index) => `${index} (${name}, ${description})`).join(', ')}`;
  const missing = devices.find((device) => namedCards(all, [device]).length === 0);
  if (missing !== undefined) return `the card ${missing} (--usecuda, --usevulkan, --device) is not here; ${here}`;
  const cards = namedCards(all, devices).length;
  const shares = tensorSplit.findLastIndex((share) => share > 0) + 1;
  if (shares > cards) return `--tensor_split has ${shares} shares, and the model uses ${cards} of the cards; ${here}`;
  if (mainGpu >= cards) return `--maingpu ${mainGpu} is not here; ${here}`;
  return undefined;
}
