import type { SeededNoise } from './noise.ts';
import { moved, type SamplerName, type Step, stepBy, type Velocity } from './samplers.ts';

/** The network itself: the velocities of some rows, each with the condition that it is drawn by. */
export type FlowNetwork = (rows: {
  readonly x: Float32Array;
  readonly time: number;
  readonly conditions: readonly Float32Array[];
}) => Promise<Float32Array>;

export interface Wishes {
  readonly wanted: Float32Array;
  readonly unwanted: Float32Array;
  /** How far away from the unwanted and towards the wanted; at 1 the unwanted does not count at all. */
  readonly guidance: number;
}

export interface Drawing {
  readonly network: FlowNetwork;
  readonly wishes: Wishes;
  readonly sampler: SamplerName;
  readonly times: readonly number[];
  readonly noise: SeededNoise;
  /** Numbers of the picture, from −1 to 1. */
  readonly size: number;
  readonly initial?: Float32Array | undefined;
  /** For each number of the picture: 1 where it is drawn anew, 0 where the initial one stays. */
  readonly mask?: Float32Array | undefined;
  /** After each step, with what the picture will probably be. */
  readonly stepped: (done: number, outlook: () => Float32Array) => Promise<void>;
  readonly signal: AbortSignal;
}

/** From noise, or from a picture with some noise in it, to a picture: along the velocities that the network tells. */
export async function drawPicture(drawing: Drawing): Promise<Float32Array> {
  const { times, noise, size, sampler, initial, mask, stepped, signal } = drawing;
  const [begin = 1] = times;
  const start = noise.take(size);
  const mixedAt = (time: number): Float32Array =>
    initial ? start.map((value, index) => (initial[index] as number) * time + value * (1 - time)) : start;
  const velocityAt = guided(drawing);
  let x = mixedAt(begin);
  for (const [index, from] of times.slice(0, -1).entries()) {
    signal.throwIfAborted();
    const to = times[index + 1] as number;
    const velocity = await velocityAt(x, from);
    const step: Step = { x, from, to, velocity };
    x = await stepBy[sampler](step, { velocityAt, noise: () => noise.take(size) });
    if (initial && mask) x = withKnown(x, mixedAt(to), mask);
    await stepped(index + 1, () => moved(step.x, velocity, 1 - from));
  }
  return x;
}

/** Both wishes go through the network together; where only one counts, it goes alone. */
function guided({ network, wishes }: Drawing): Velocity {
  const { wanted, unwanted, guidance } = wishes;
  if (guidance === 1) return (x, time) => network({ x, time, conditions: [wanted] });
  return async (x, time) => {
    const both = await network({ x: twice(x), time, conditions: [wanted, unwanted] });
    const away = both.subarray(x.length);
    return x.map((_, index) => {
      const from = away[index] as number;
      return from + guidance * ((both[index] as number) - from);
    });
  };
}

function withKnown(x: Float32Array, known: Float32Array, mask: Float32Array): Float32Array {
  return x.map((value, index) => {
    const share = mask[index % mask.length] as number;
    return value * share + (known[index] as number) * (1 - share);
  });
}

function twice(x: Float32Array): Float32Array {
  const both = new Float32Array(2 * x.length);
  both.set(x);
  both.set(x, x.length);
  return both;
}
