import { contextSizeFor, type ModelShape, memoryNeed } from '../engines/llama/load-options.ts';

export interface Fit {
  readonly needBytes: number;
  readonly availableBytes: number;
  /** `fits` with some room left, `tight` with none, `large` where it would have to be read from the disk again and again. */
  readonly verdict: 'fits' | 'tight' | 'large';
  /** The context that the server will give it. */
  readonly contextSize: number;
}

export interface Wish {
  readonly contextSize: number;
  readonly contextSizeGiven: boolean;
  readonly sequences: number;
}

/** A tenth of the memory is what the rest of a machine takes without anybody noticing. */
const comfortable = 0.9;

/** About whether a model can be kept in memory, by its header and by what is free now. */
export function fitOf(shape: ModelShape, wish: Wish, availableBytes: number): Fit {
  const { trainedContext } = shape;
  const contextSize = trainedContext > 0 ? contextSizeFor(wish, trainedContext) : wish.contextSize;
  const needBytes = memoryNeed(shape, contextSize, wish.sequences);
  const verdict = needBytes <= availableBytes * comfortable ? 'fits' : needBytes <= availableBytes ? 'tight' : 'large';
  return { needBytes, availableBytes, verdict, contextSize };
}
