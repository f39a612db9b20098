/** Where the picture goes from here, for all numbers of all pictures at once. */
export type Velocity = (x: Float32Array, time: number) => Promise<Float32Array>;

export interface Step {
  readonly x: Float32Array;
  readonly from: number;
  readonly to: number;
  /** At `x` and `from`. */
  readonly velocity: Float32Array;
}

/** What a sampler may ask for beside the velocity that each has anyway. */
export interface StepTools {
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
