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

/** Where the picture goes from here, for all numbers of all pictures at once. */
export type Velocity = (x: Float32Array, time: number) => Promise<Float32Array>;

interface Step {
  readonly x: Float32Array;
  readonly from: number;
  readonly to: number;
  /** At `x` and `from`. */
  readonly velocity: Float32Array;
}

/** What a sampler may ask for beside the velocity that each has anyway. */
interface StepTools {
  readonly velocityAt: Velocity;
  /** As many fresh numbers as the pictures have. */
  readonly noise: () => Float32Array;
}

type Sampler = (step: Step, tools: StepTools) => Promise<Float32Array>;

/** The ways to go from one time to the next, by the names that people choose them by. */
export const samplers = ['Euler', 'Euler a', 'Heun', 'Midpoint'] as const;
export type SamplerName = (typeof samplers)[number];

export const stepBy: Readonly<Record<SamplerName, Sampler>> = {
  Euler: async ({ x, from, to, velocity }) => moved(x, velocity, to - from),
  'Euler a': async (step, { noise }) => ancestral(step, noise),
  Heun: async ({ x, from, to, velocity }, { velocityAt }) => {
    const ahead = moved(x, velocity, to - from);
    // At the very end there is nothing left to look ahead for.
    if (to >= 1) return ahead;
    const there = await velocityAt(ahead, to);
    return moved(moved(x, velocity, (to - from) / 2), there, (to - from) / 2);
  },
  Midpoint: async ({ x, from, to, velocity }, { velocityAt }) => {
    const half = (to - from) / 2;
    return moved(x, await velocityAt(moved(x, velocity, half), from + half), to - from);
  },
};

/** Goes further than it should, and puts fresh noise in for what is too much. */
function ancestral({ x, from, to, velocity }: Step, noise: () => Float32Array): Float32Array {
  const [now, next] = [1 - from, 1 - to];
  if (next <= 0) return moved(x, velocity, to - from);
  const further = (next * next) / now;
  const there = moved(x, velocity, now - further);
  // The picture's part of the mixture must be what belongs to `to`; noise makes up for the rest.
  const scale = to / (1 - further);
  const missing = Math.sqrt(Math.max(0, next * next - (further * scale) ** 2));
  const fresh = noise();
  return there.map((value, index) => value * scale + (fresh[index] as number) * missing);
}

export function moved(x: Float32Array, velocity: Float32Array, distance: number): Float32Array {
  return x.map((value, index) => value + (velocity[index] as number) * distance);
}

/** The ways to lay out the steps between noise (0) and picture (1), by the names that people choose them by. */
export const schedulers = ['Simple', 'Shifted'] as const;
export type Scheduler = (typeof schedulers)[number];

/** How much more of the steps is spent on what the picture shows than on how it is finished. */
const shift = 2;

/** The times between which the steps lie: one more than there are steps. With a start from a picture, less noise is taken away. */
export function timesOf(scheduler: Scheduler, steps: number, strength = 1): readonly number[] {
  if (steps === 0) return [1];
  return Array.from({ length: steps + 1 }, (_, index) => 1 - strength * noiseLeft[scheduler](1 - index / steps));
}

/** As many steps as belong to that part of the way which is gone. */
export function stepsFor(steps: number, strength: number): number {
  return strength <= 0 ? 0 : Math.max(1, Math.round(steps * Math.min(1, strength)));
}

const noiseLeft: Readonly<Record<Scheduler, (rest: number) => number>> = {
  Simple: (rest) => rest,
  Shifted: (rest) => (shift * rest) / (1 + (shift - 1) * rest),
};

/** Normally distributed numbers that depend on the seed alone, one after the other. */
export class SeededNoise {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** Any whole number; also those beyond 32 bits differ from each other. */
  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = 0x9e3779b9;
    // Seeds that are near each other part only after some rounds.
    for (let round = 0; round < 16; round += 1) this.#bits();
  }

  take(count: number): Float32Array {
    const numbers = new Float32Array(count);
    for (let index = 0; index < count; index += 2) {
      const radius = Math.sqrt(-2 * Math.log(this.#uniform()));
      const angle = 2 * Math.PI * this.#uniform();
      numbers[index] = radius * Math.cos(angle);
      if (index + 1 < count) numbers[index + 1] = radius * Math.sin(angle);
    }
    return numbers;
  }

  /** Above 0 and at most 1. */
  #uniform(): number {
    return (this.#bits() + 1) / 2 ** 32;
  }

  /** The generator sfc32: small, fast, and good far beyond what a picture takes. */
  #bits(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }
}
