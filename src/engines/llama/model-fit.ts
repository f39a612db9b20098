import type { fits, speeds } from '../../core/models-view.ts';
import { layersThatFit } from './card-placement.ts';
import { type MemoryOptions, type ModelShape, modelMemory } from './model-shape.ts';

/** The memory that a model may use. */
export interface FreeMemory {
  /** Of each card. */
  readonly cardBytes: readonly number[];
  readonly mainBytes: number;
}

interface FitOptions extends MemoryOptions {
  /** Memory to leave free on each card. */
  readonly marginBytes: number;
  /** 0 without a projector. */
  readonly projectorBytes: number;
}

export interface ModelFit {
  readonly fit: (typeof fits)[number];
  readonly memoryBytes: number;
  readonly cardLayers: number;
  /** With the output layer. */
  readonly layers: number;
  readonly speed: (typeof speeds)[number];
}

/** Memory of the process itself. */
const processBytes = 200 * 2 ** 20;
/** Other programs need some of what is free. */
const usableShare = 0.9;

/** Where a model would run, as the loader places it without flags. */
export function modelFit(shape: ModelShape, options: FitOptions, free: FreeMemory): ModelFit {
  const { weightBytes, cacheBytes, computeBytes } = modelMemory(shape, options);
  const hostBytes = shape.hostBytes ?? 0;
  const fixedBytes = computeBytes + options.projectorBytes;
  const layers = shape.layers + 1;
  const divided = weightBytes - hostBytes + cacheBytes;
  const cardLayers = layersThatFit({
    ...{ modelBytes: weightBytes - hostBytes, cacheBytes, fixedBytes, layers: shape.layers },
    ...{ freeBytes: free.cardBytes, marginBytes: options.marginBytes, split: [] },
  });
  const share = cardLayers / layers;
  const mainBytes = (1 - share) * divided + (share < 1 ? computeBytes : 0) + (share > 0 ? 0 : options.projectorBytes);
  const isPlaced = mainBytes + hostBytes + processBytes <= free.mainBytes * usableShare;
  const fit = !isPlaced ? 'no' : share === 1 ? 'card' : share > 0 ? 'part' : 'processor';
  const memoryBytes = Math.ceil(weightBytes + cacheBytes + fixedBytes);
  return { fit, memoryBytes, cardLayers, layers, speed: speedOf(shape, share) };
}

/** Bytes per second that are read in practice: a card of the middle class, and two channels of main memory. */
const cardRate = 300e9;
const mainRate = 30e9;
/** Tokens per second of each class but the last. */
const classes = { fast: 40, good: 12, slow: 4 } as const;

/** Writing a token reads all active weights once, which takes longer than computing with them. */
function speedOf({ sizeBytes, activeBytes = sizeBytes }: ModelShape, share: number): ModelFit['speed'] {
  const tokens = 1 / ((activeBytes * share) / cardRate + (activeBytes * (1 - share)) / mainRate);
  const [speed] = Object.entries(classes).find(([, least]) => tokens >= least) ?? ['very slow'];
  return speed as ModelFit['speed'];
}
