/** Flow-matching network: the velocities of some rows, each with its condition. */
export type FlowNetwork = (rows: {
  readonly x: Float32Array;
  readonly time: number;
  readonly conditions: readonly Float32Array[];
}) => Promise<Float32Array>;

export interface FlowSampling {
  readonly network: FlowNetwork;
  /** Embeddings of the prompt and of the negative prompt. */
  readonly conditions: readonly [Float32Array, Float32Array];
  /** Classifier-free guidance; at 1 the negative prompt has no effect. */
  readonly guidance: number;
  readonly sampler: SamplerName;
  readonly times: readonly number[];
  readonly noise: SeededNoise;
  /** Number of values of the image, which are from -1 to 1. */
  readonly size: number;
  readonly initial?: Float32Array | undefined;
  /** Per value of the image: 1 is generated, 0 is kept from the initial image. */
  readonly mask?: Float32Array | undefined;
  /** Called after each step, with the predicted result. */
  readonly stepped: (done: number, predicted: () => Float32Array) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Integrates the velocities of the network from noise, or from a mix of noise and the initial image, to an image. */
export async function sampleImage(sampling: FlowSampling): Promise<Float32Array> {
  const { times, noise, size, sampler, initial, mask, stepped, signal } = sampling;
  const [begin = 1] = times;
  const start = noise.take(size);
  const mixedAt = (time: number): Float32Array =>
    initial ? start.map((value, index) => (initial[index] as number) * time + value * (1 - time)) : start;
  const velocityAt = guided(sampling);
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

/** Runs both conditions in one batch, or only the first if guidance is off. */
function guided({ network, conditions, guidance }: FlowSampling): Velocity {
  if (guidance === 1) return (x, time) => network({ x, time, conditions: [conditions[0]] });
  return async (x, time) => {
    const twice = new Float32Array(2 * x.length);
    twice.set(x);
    twice.set(x, x.length);
    const both = await network({ x: twice, time, conditions });
    return x.map((_, index) => {
      const negative = both[x.length + index] as number;
      return negative + guidance * ((both[index] as number) - negative);
    });
  };
}

function withKnown(x: Float32Array, known: Float32Array, mask: Float32Array): Float32Array {
  return x.map((value, index) => {
    const share = mask[index % mask.length] as number;
    return value * share + (known[index] as number) * (1 - share);
  });
}

/** Velocity of all values at a time. */
export type Velocity = (x: Float32Array, time: number) => Promise<Float32Array>;

interface Step {
  readonly x: Float32Array;
  readonly from: number;
  readonly to: number;
  /** At `x` and `from`. */
  readonly velocity: Float32Array;
}

/** `noise` is new and of the size of the image. */
type Sampler = (step: Step, tools: { velocityAt: Velocity; noise: () => Float32Array }) => Promise<Float32Array>;

export const samplers = ['Euler', 'Euler a', 'Heun', 'Midpoint'] as const;
export type SamplerName = (typeof samplers)[number];

export const stepBy: Readonly<Record<SamplerName, Sampler>> = {
  Euler: async ({ x, from, to, velocity }) => moved(x, velocity, to - from),
  'Euler a': async (step, { noise }) => ancestral(step, noise),
  Heun: async ({ x, from, to, velocity }, { velocityAt }) => {
    const ahead = moved(x, velocity, to - from);
    // The network is not defined beyond the end.
    if (to >= 1) return ahead;
    const there = await velocityAt(ahead, to);
    return moved(moved(x, velocity, (to - from) / 2), there, (to - from) / 2);
  },
  Midpoint: async ({ x, from, to, velocity }, { velocityAt }) => {
    const half = (to - from) / 2;
    return moved(x, await velocityAt(moved(x, velocity, half), from + half), to - from);
  },
};

/** Ancestral sampling: steps too far and adds new noise for the excess. */
function ancestral({ x, from, to, velocity }: Step, noise: () => Float32Array): Float32Array {
  const [now, next] = [1 - from, 1 - to];
  if (next <= 0) return moved(x, velocity, to - from);
  const further = (next * next) / now;
  const there = moved(x, velocity, now - further);
  // Keeps the ratio of signal and noise that belongs to `to`.
  const scale = to / (1 - further);
  const missing = Math.sqrt(Math.max(0, next * next - (further * scale) ** 2));
  const fresh = noise();
  return there.map((value, index) => value * scale + (fresh[index] as number) * missing);
}

export function moved(x: Float32Array, velocity: Float32Array, distance: number): Float32Array {
  return x.map((value, index) => value + (velocity[index] as number) * distance);
}

/** Distributions of the steps between noise (0) and image (1). */
export const schedulers = ['Simple', 'Shifted'] as const;
type Scheduler = (typeof schedulers)[number];

/** Shift of the timesteps towards the noise, where the content of the image is decided. */
const shift = 2;

/** Times of the steps, and the end. With an initial image, the strength is the amount of noise at the start. */
export function timesOf(scheduler: Scheduler, steps: number, strength = 1): readonly number[] {
  if (steps === 0) return [1];
  return Array.from({ length: steps + 1 }, (_, index) => 1 - strength * noiseLeft[scheduler](1 - index / steps));
}

/** Number of steps for a start from an image. */
export function stepsFor(steps: number, strength: number): number {
  return strength <= 0 ? 0 : Math.max(1, Math.round(steps * Math.min(1, strength)));
}

const noiseLeft: Readonly<Record<Scheduler, (rest: number) => number>> = {
  Simple: (rest) => rest,
  Shifted: (rest) => (shift * rest) / (1 + (shift - 1) * rest),
};

/** Normally distributed random numbers (Box-Muller over sfc32). */
export class SeededNoise {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** Any whole number, also beyond 32 bits. */
  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = 0x9e3779b9;
    // Similar seeds give similar numbers in the first rounds.
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

  #bits(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }
}
