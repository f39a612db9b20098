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
  /** One for each picture. */
  readonly noises: readonly SeededNoise[];
  /** Numbers of one picture, from −1 to 1. */
  readonly size: number;
  readonly initial?: Float32Array | undefined;
  /** For each number of a picture: 1 where it is drawn anew, 0 where the initial one stays. */
  readonly mask?: Float32Array | undefined;
  /** After each step, with what the pictures will probably be. */
  readonly stepped: (done: number, outlook: () => readonly Float32Array[]) => Promise<void>;
  readonly signal: AbortSignal;
}

/** From noise, or from a picture with some noise in it, to pictures: along the velocities that the network tells. */
export async function drawPictures(drawing: Drawing): Promise<readonly Float32Array[]> {
  const { times, noises, size, sampler, initial, mask, stepped, signal } = drawing;
  const [begin = 1] = times;
  const start = joined(noises.map((noise) => noise.take(size)));
  const mixedAt = (time: number): Float32Array =>
    initial ? start.map((noise, index) => (initial[index % size] as number) * time + noise * (1 - time)) : start;
  const velocityAt = guided(drawing);
  const fresh = (): Float32Array => joined(noises.map((noise) => noise.take(size)));
  let x = mixedAt(begin);
  for (const [index, from] of times.slice(0, -1).entries()) {
    signal.throwIfAborted();
    const to = times[index + 1] as number;
    const velocity = await velocityAt(x, from);
    const step: Step = { x, from, to, velocity };
    x = await stepBy[sampler](step, { velocityAt, noise: fresh });
    if (initial && mask) x = withKnown(x, mixedAt(to), mask);
    await stepped(index + 1, () => apart(moved(step.x, velocity, 1 - from), size));
  }
  return apart(x, size);
}

/** Both wishes go through the network together; where only one counts, it goes alone. */
function guided({ network, wishes, noises }: Drawing): Velocity {
  const { wanted, unwanted, guidance } = wishes;
  const each = (condition: Float32Array): Float32Array[] => noises.map(() => condition);
  if (guidance === 1) return (x, time) => network({ x, time, conditions: each(wanted) });
  return async (x, time) => {
    const both = await network({ x: joined([x, x]), time, conditions: [...each(wanted), ...each(unwanted)] });
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

function joined(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let next = 0;
  for (const part of parts) {
    whole.set(part, next);
    next += part.length;
  }
  return whole;
}

function apart(x: Float32Array, size: number): Float32Array[] {
  return Array.from({ length: x.length / size }, (_, index) => x.slice(index * size, (index + 1) * size));
}
