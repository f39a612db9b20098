import { stat } from 'node:fs/promises';
import { type GpuNeed, namedGpus } from '../../core/gpu-memory.ts';
import type { fits, speeds } from '../../core/models-view.ts';
import { expectedContextSize, type LoadOptions, readModelFile, sharesCells } from './load-options.ts';
import { defaultMemory, type MemoryOptions, type ModelShape, modelMemory } from './model-shape.ts';

type SizedOptions = Pick<
  LoadOptions,
  | Exclude<keyof MemoryOptions, 'shared'>
  | ('shape' | 'contextSizeGiven' | 'trainedContextOverride' | 'metadataOverrides')
  | ('guidance' | 'offloadCache' | 'loadMode')
>;

/** The files that are loaded with the model: the size of a projector, and the shape of a draft model or of prediction layers. */
interface AuxiliaryFiles {
  readonly projectorBytes: number;
  readonly draft: Pick<ModelShape, 'sizeBytes' | 'cacheBytesPerToken' | 'compute'> | undefined;
}

/** A file that cannot be read is reported when it is loaded. */
export async function auxiliaryFiles(
  options: Pick<LoadOptions, 'projector' | 'draft' | 'deterministic' | 'shape'>,
): Promise<AuxiliaryFiles> {
  const { projector, draft, deterministic } = options;
  const projectorStats = projector?.useGpu ? await stat(projector.path).catch(() => undefined) : undefined;
  const drafter = draft?.model && draft.model.gpuLayers !== 0 && !deterministic ? draft.model.path : undefined;
  const file = drafter === undefined ? undefined : await readModelFile(drafter).catch(() => undefined);
  const shape = draft?.prediction && !deterministic ? predictionShape(file?.shape, options.shape) : file?.shape;
  return { projectorBytes: projectorStats?.size ?? 0, draft: shape };
}

/** Of layers for multi-token prediction, in a file of their own or in that of the model, whose size includes them. */
function predictionShape(file: ModelShape | undefined, model: ModelShape): AuxiliaryFiles['draft'] {
  const { prediction, ...shape } = file ?? { ...model, sizeBytes: 0 };
  return prediction ? { ...shape, cacheBytesPerToken: prediction.cacheBytesPerToken } : file;
}

const noAuxiliaryFiles: AuxiliaryFiles = { projectorBytes: 0, draft: undefined };

/**
 * The GPU memory of a model. Weights and cache are divided by layers; the rest is needed with the first layer: compute buffers, the
 * projector, the draft model, whose sequences share no cells.
 */
export function placedBytes(options: SizedOptions, auxiliary: AuxiliaryFiles = noAuxiliaryFiles) {
  const { shape, guidance, offloadCache } = options;
  const sizes = { ...options, contextSize: expectedContextSize(options) };
  const sequences = options.sequences + (guidance ? 1 : 0);
  const { weightBytes, cacheBytes, computeBytes } = modelMemory(shape, {
    ...sizes,
    sequences,
    shared: sharesCells(options, true),
  });
  const draft = auxiliary.draft && modelMemory(auxiliary.draft, { ...sizes, cacheType: 'f16' });
  const draftBytes = draft ? draft.weightBytes + draft.computeBytes + (offloadCache ? draft.cacheBytes : 0) : 0;
  return {
    modelBytes: weightBytes - (shape.hostBytes ?? 0),
    cacheBytes: offloadCache ? cacheBytes : 0,
    fixedBytes: computeBytes + auxiliary.projectorBytes + draftBytes,
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

type Gpus = Pick<Fit, 'freeBytes' | 'marginBytes' | 'split'>;

/**
 * Whether each sequence can have cells of its own on these GPUs, which are faster than shared ones: if the whole model fits with
 * them, and they take at most half of the memory that it leaves.
 */
export function hasRoomForOwnCells(
  options: SizedOptions & Pick<LoadOptions, 'sharesGpus'>,
  gpus: Gpus,
  auxiliary?: AuxiliaryFiles,
): boolean {
  if (options.cellPool >= 0 || options.sharesGpus) return false;
  const { layers } = options.shape;
  const { cacheBytes, ...bytes } = placedBytes({ ...options, cellPool: 0 }, auxiliary);
  return layersThatFit({ ...bytes, cacheBytes: 2 * cacheBytes, layers, ...gpus }) === layers + 1;
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
export function gpuNeed(options: PlacementOptions, auxiliary?: AuxiliaryFiles): GpuNeed | undefined {
  const { backend, gpuLayers, devices, shape } = options;
  if (backend === 'cpu' || gpuLayers === 0) return undefined;
  const { modelBytes, cacheBytes, fixedBytes } = placedBytes(options, auxiliary);
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
  const missing = devices.find((device) => namedGpus(all, [device]).length === 0);
  if (missing !== undefined) return `the card ${missing} (--usecuda, --usevulkan, --device) is not here; ${here}`;
  const gpus = namedGpus(all, devices).length;
  const shares = tensorSplit.findLastIndex((share) => share > 0) + 1;
  if (shares > gpus) return `--tensor_split has ${shares} shares, and the model uses ${gpus} of the cards; ${here}`;
  if (mainGpu >= gpus) return `--maingpu ${mainGpu} is not here; ${here}`;
  return undefined;
}

/** Memory of library and process besides what is allocated for the model. */
const processBytes = 200 * 2 ** 20;

/** Main memory that a model needs if none of it is on GPUs. */
export function memoryNeed(
  shape: Pick<ModelShape, 'sizeBytes' | 'cacheBytesPerToken'>,
  contextSize: number,
  sequences: number,
  options: Omit<MemoryOptions, 'contextSize' | 'sequences'> = defaultMemory,
): number {
  const sizes = { ...options, contextSize, sequences: Math.max(1, sequences) };
  return Math.ceil(modelMemory(shape, sizes).totalBytes + processBytes);
}

/** The memory that a model may use. */
export interface FreeMemory {
  /** Of each GPU. */
  readonly gpuBytes: readonly number[];
  readonly mainBytes: number;
}

interface FitOptions extends MemoryOptions {
  /** Memory to leave free on each GPU. */
  readonly marginBytes: number;
  /** 0 without a projector. */
  readonly projectorBytes: number;
}

export interface ModelFit {
  readonly fit: (typeof fits)[number];
  readonly memoryBytes: number;
  readonly gpuLayers: number;
  /** With the output layer. */
  readonly layers: number;
  readonly speed: (typeof speeds)[number];
}

/** Other programs need some of what is free. */
const usableShare = 0.9;

/** Where a model would run, as the loader places it without flags. */
export function modelFit(shape: ModelShape, options: FitOptions, free: FreeMemory): ModelFit {
  const { weightBytes, cacheBytes, computeBytes, totalBytes } = modelMemory(shape, options);
  const hostBytes = shape.hostBytes ?? 0;
  const fixedBytes = computeBytes + options.projectorBytes;
  const layers = shape.layers + 1;
  const divided = weightBytes - hostBytes + cacheBytes;
  const bytes = { modelBytes: weightBytes - hostBytes, cacheBytes, fixedBytes };
  const gpus = { freeBytes: free.gpuBytes, marginBytes: options.marginBytes, split: [] };
  const gpuLayers = layersThatFit({ ...bytes, layers: shape.layers, ...gpus });
  const share = gpuLayers / layers;
  const mainBytes = (1 - share) * divided + (share < 1 ? computeBytes : 0) + (share > 0 ? 0 : options.projectorBytes);
  const isPlaced = mainBytes + hostBytes + processBytes <= free.mainBytes * usableShare;
  const fit = !isPlaced ? 'no' : share === 1 ? 'card' : share > 0 ? 'part' : 'processor';
  const memoryBytes = Math.ceil(totalBytes + options.projectorBytes);
  return { fit, memoryBytes, gpuLayers, layers, speed: speedOf(shape, share) };
}

/** Bytes per second that are read in practice: a GPU of the middle class, and two channels of main memory. */
const gpuRate = 300e9;
const mainRate = 30e9;
/** Tokens per second of each class but the last. */
const classes = { fast: 40, good: 12, slow: 4 } as const;

/** Writing a token reads all active weights once, which takes longer than computing with them. */
function speedOf({ sizeBytes, activeBytes = sizeBytes }: ModelShape, share: number): ModelFit['speed'] {
  const tokens = 1 / ((activeBytes * share) / gpuRate + (activeBytes * (1 - share)) / mainRate);
  const [speed] = Object.entries(classes).find(([, min]) => tokens >= min) ?? ['very slow'];
  return speed as ModelFit['speed'];
}

interface FreeRoom {
  /** Free main memory, without the model. */
  readonly freeBytes: number;
  /** Free memory of the GPUs that it may use, less what is left free there; 0 without GPUs. */
  readonly gpuBytes: number;
  /** Files that are loaded with it. */
  readonly auxiliaryBytes: number;
}

/** Multiples of the default, so that the size does not change with every free byte. */
const factors = [1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32];
/** Shares of the memory left by the model that a longer context may take. The rest is for cached chats and other programs. */
export interface ContextShares {
  readonly gpus: number;
  readonly main: number;
}

export const defaultShares: ContextShares = { gpus: 1 / 2, main: 1 / 4 };

/**
 * A context above the default where there is room for it, at most the trained one. The KV cache is allocated at once, and a model that
 * is only in part on GPUs would lose layers to it: it keeps the default.
 */
export function largestContext(
  shape: ModelShape,
  options: MemoryOptions,
  { freeBytes, gpuBytes, auxiliaryBytes }: FreeRoom,
  max: number,
  shares = defaultShares,
): number {
  const { contextSize } = options;
  const trained = Math.min(shape.trainedContext, max);
  const sizes = [...factors.map((factor) => factor * contextSize).filter((size) => size < trained), trained];
  const bytesFor = (size: number): number =>
    modelMemory(shape, { ...options, contextSize: size }).totalBytes + auxiliaryBytes;
  const base = bytesFor(contextSize);
  const room = gpuBytes > 0 ? (gpuBytes - base) * shares.gpus : (freeBytes - base) * shares.main;
  return sizes.findLast((size) => size > contextSize && bytesFor(size) - base <= room) ?? contextSize;
}
