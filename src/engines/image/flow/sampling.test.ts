import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type FlowNetwork,
  type FlowSampling,
  moved,
  type SamplerName,
  SeededNoise,
  sampleImage,
  samplers,
  schedulers,
  stepBy,
  stepsFor,
  timesOf,
  type Velocity,
} from './sampling.ts';

const size = 6;
const never = new AbortController().signal;

/**
 * A network that knows one picture for each condition (all numbers are the condition's first one) and leads there straight,
 * from wherever it is.
 */
const knowing: FlowNetwork = async ({ x, time, conditions }) =>
  x.map((value, index) => {
    const [target = 0] = conditions[Math.floor(index / size)] ?? [];
    return (target - value) / Math.max(1 - time, 1e-3);
  });

function sampling(changes: Partial<FlowSampling> = {}): FlowSampling {
  return {
    network: knowing,
    conditions: [Float32Array.of(0.5), Float32Array.of(0)],
    guidance: 1,
    sampler: 'Euler',
    times: timesOf('Simple', 4),
    noise: new SeededNoise(1),
    size,
    stepped: async () => undefined,
    signal: never,
    ...changes,
  };
}

const rounded = (image: Float32Array | undefined) => [...(image ?? [])].map((value) => Number(value.toFixed(3)));
const all = (value: number) => Array<number>(size).fill(value);

describe('drawPicture', () => {
  test.each(samplers)('%s ends at the target of the network', async (sampler) => {
    const image = await sampleImage(sampling({ sampler }));
    expect(rounded(image)).toEqual(all(0.5));
  });

  test('runs the network once per time', async () => {
    const asked: number[] = [];
    const network: FlowNetwork = async (rows) => {
      asked.push(rows.time);
      return knowing(rows);
    };
    await sampleImage(sampling({ network }));
    expect(asked).toEqual([0, 0.25, 0.5, 0.75]);
  });

  test('depends on the seed only, also with ancestral noise', async () => {
    // One that keeps something of where it came from.
    const network: FlowNetwork = async ({ x, time }) => x.map((value) => Math.sin(3 * value) - time);
    for (const sampler of samplers) {
      const [first, again, other] = await Promise.all(
        [5, 5, 6].map((seed) => sampleImage(sampling({ network, sampler, noise: new SeededNoise(seed) }))),
      );
      expect(again).toEqual(first);
      expect(other).not.toEqual(first);
    }
  });

  test('reports each step with the predicted result', async () => {
    const told: [number, number[]][] = [];
    await sampleImage(
      sampling({
        stepped: async (done, outlook) => {
          told.push([done, rounded(outlook())]);
        },
      }),
    );
    expect(told).toEqual([1, 2, 3, 4].map((done) => [done, all(0.5)]));
  });

  test('waits for the step callback', async () => {
    const log: string[] = [];
    const network: FlowNetwork = async (rows) => {
      log.push('step');
      return knowing(rows);
    };
    const stepped = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      log.push('told');
    };
    await sampleImage(sampling({ network, stepped, times: [0, 0.5, 1] }));
    expect(log).toEqual(['step', 'told', 'step', 'told']);
  });

  test('stops between two steps on abort', async () => {
    const stop = new AbortController();
    const done: number[] = [];
    const work = sampleImage(
      sampling({
        signal: stop.signal,
        stepped: async (step) => {
          done.push(step);
          if (step === 2) stop.abort(new Error('gone'));
        },
      }),
    );
    await expect(work).rejects.toThrow('gone');
    expect(done).toEqual([1, 2]);
  });
});

describe('drawPicture: guidance', () => {
  const guiding = { conditions: [Float32Array.of(0.5), Float32Array.of(0.1)], guidance: 3 } as const;

  test('extrapolates from the negative beyond the positive condition', async () => {
    const image = await sampleImage(sampling(guiding));
    // 0.1 + 3 · (0.5 − 0.1)
    expect(rounded(image)).toEqual(all(1.3));
  });

  test('runs both conditions in one batch, and only the positive one with guidance 1', async () => {
    const rows: number[][] = [];
    const network: FlowNetwork = async (given) => {
      rows.push(given.conditions.map(([first = 0]) => Number(first.toFixed(1))));
      return knowing(given);
    };
    await sampleImage(sampling({ network, ...guiding, times: [0, 1] }));
    await sampleImage(sampling({ network, ...guiding, guidance: 1, times: [0, 1] }));
    expect(rows).toEqual([[0.5, 0.1], [0.5]]);
  });

  test('guidance 0 draws the negative condition', async () => {
    const image = await sampleImage(sampling({ ...guiding, guidance: 0 }));
    expect(rounded(image)).toEqual(all(0.1));
  });
});

describe('drawPicture: initial picture', () => {
  const initial = Float32Array.of(-1, -0.5, 0, 0.25, 0.5, 1);
  /** One that changes nothing: whatever is there is the picture. */
  const idle: FlowNetwork = async ({ x }) => new Float32Array(x.length);

  test('starts from the initial picture mixed with noise by strength', async () => {
    const start = await sampleImage(sampling({ initial, network: idle, times: timesOf('Simple', 2, 0.25) }));
    const noise = new SeededNoise(1).take(size);
    expect(rounded(start)).toEqual(
      rounded(initial.map((value, index) => value * 0.75 + (noise[index] as number) * 0.25)),
    );
  });

  test('strength 0 returns it unchanged', async () => {
    expect(await sampleImage(sampling({ initial, times: timesOf('Simple', 0, 0) }))).toEqual(initial);
  });

  test('the mask keeps some values and redraws others', async () => {
    const mask = Float32Array.of(0, 0, 0, 1, 1, 1);
    const image = await sampleImage(sampling({ initial, mask }));
    expect(rounded(image)).toEqual([-1, -0.5, 0, 0.5, 0.5, 0.5]);
  });

  test('a grey mask keeps values in part', async () => {
    const mask = new Float32Array(size).fill(0.5);
    const image = await sampleImage(sampling({ initial, mask }));
    expect(rounded(image)).toEqual(rounded(initial.map((value) => value * 0.5 + 0.25)));
  });

  test('kept values have the noise of the current time', async () => {
    const seen: number[][] = [];
    const network: FlowNetwork = async ({ x, time }) => {
      if (time === 0.5) seen.push(rounded(x));
      return new Float32Array(x.length);
    };
    await sampleImage(sampling({ network, initial, mask: new Float32Array(size), times: [0, 0.5, 1] }));
    const noise = new SeededNoise(1).take(size);
    expect(seen).toEqual([rounded(initial.map((value, index) => (value + (noise[index] as number)) / 2))]);
  });

  test('one mask applies to all colours', async () => {
    // Three planes of two pixels.
    const mask = Float32Array.of(0, 1);
    const image = await sampleImage(sampling({ initial, mask }));
    expect(rounded(image)).toEqual([-1, 0.5, 0, 0.5, 0.5, 0.5]);
  });
});

/** Goes the whole way with a sampler, in steps of one length. */
async function way(name: SamplerName, start: number, velocityAt: Velocity, steps: number, until = 1): Promise<number> {
  let x: Float32Array = Float32Array.of(start);
  for (let index = 0; index < steps; index += 1) {
    const [from, to] = [(index / steps) * until, ((index + 1) / steps) * until];
    const velocity = await velocityAt(x, from);
    x = await stepBy[name]({ x, from, to, velocity }, { velocityAt, noise: () => Float32Array.of(0) });
  }
  return x[0] as number;
}

/** dx/dt = x, so that x(t) = x(0) · e^t. */
const growth: Velocity = async (x) => x.slice();

describe('samplers', () => {
  test.each(samplers.filter((name) => name !== 'Euler a'))('%s follows a straight way exactly', async (name) => {
    expect(await way(name, 0.5, async () => Float32Array.of(2), 4)).toBeCloseTo(2.5, 5);
  });

  test('all converge, second-order ones faster', async () => {
    const exact = Math.exp(0.5);
    const off = async (name: SamplerName, steps: number) => Math.abs((await way(name, 1, growth, steps, 0.5)) - exact);
    expect(await off('Euler', 8)).toBeLessThan(0.03);
    expect(await off('Euler', 8)).toBeGreaterThan(0.01);
    expect(await off('Heun', 8)).toBeLessThan(0.001);
    expect(await off('Midpoint', 8)).toBeLessThan(0.001);
    // Twice the steps: half the error, or a quarter of it.
    expect((await off('Euler', 8)) / (await off('Euler', 16))).toBeCloseTo(2, 0);
    expect((await off('Midpoint', 4)) / (await off('Midpoint', 8))).toBeCloseTo(4, 0);
  });

  test('do not modify their input', async () => {
    for (const name of samplers) {
      const [x, velocity] = [Float32Array.of(1, 2), Float32Array.of(3, 4)];
      const tools = { velocityAt: async () => velocity, noise: () => Float32Array.of(0, 0) };
      await stepBy[name]({ x, from: 0, to: 0.5, velocity }, tools);
      expect([[...x], [...velocity]]).toEqual([
        [1, 2],
        [3, 4],
      ]);
    }
  });
});

describe('samplers: network runs per step', () => {
  const asked = async (name: SamplerName, to: number): Promise<number[]> => {
    const times: number[] = [];
    const velocity = Float32Array.of(1);
    const velocityAt: Velocity = async (_, time) => {
      times.push(time);
      return velocity;
    };
    await stepBy[name]({ x: Float32Array.of(0), from: 0.5, to, velocity }, { velocityAt, noise: () => velocity });
    return times;
  };

  test('Euler needs none beyond the first', async () => {
    expect([await asked('Euler', 0.75), await asked('Euler a', 0.75)]).toEqual([[], []]);
  });

  test('Heun runs again at the end of a step, except the last one', async () => {
    expect([await asked('Heun', 0.75), await asked('Heun', 1)]).toEqual([[0.75], []]);
  });

  test('Midpoint runs again in the middle', async () => {
    expect([await asked('Midpoint', 0.75), await asked('Midpoint', 1)]).toEqual([[0.625], [0.75]]);
  });
});

describe('Euler a', () => {
  /** A picture of one number, mixed with noise: the velocity is what leads from the one to the other. */
  const image = 0.8;
  const step = (noise: number, from: number, to: number, fresh: number) =>
    stepBy['Euler a'](
      {
        x: Float32Array.of(image * from + noise * (1 - from)),
        from,
        to,
        velocity: Float32Array.of(image - noise),
      },
      { velocityAt: async () => Float32Array.of(0), noise: () => Float32Array.of(fresh) },
    );

  test('adds noise so that signal and noise match the time', async () => {
    // What is left of the picture when noise, old and fresh, is nothing.
    expect((await step(0, 0.2, 0.6, 0))[0]).toBeCloseTo(image * 0.6, 5);
    // Old and fresh noise together have the strength that is left at that time.
    const old = ((await step(1, 0.2, 0.6, 0))[0] as number) - image * 0.6;
    const fresh = ((await step(0, 0.2, 0.6, 1))[0] as number) - image * 0.6;
    expect(Math.hypot(old, fresh)).toBeCloseTo(0.4, 5);
    expect(fresh).toBeGreaterThan(0.1);
  });

  test('adds none in the last step', async () => {
    expect((await step(0.3, 0.9, 1, 100))[0]).toBeCloseTo(image, 5);
  });
});

test('moved: adds the velocity times the distance per value', () => {
  expect([...moved(Float32Array.of(1, 2), Float32Array.of(10, -10), 0.5)]).toEqual([6, -3]);
});

const anyScheduler = fc.constantFrom(...schedulers);
const anySteps = fc.integer({ min: 1, max: 150 });
const anyStrength = fc.double({ min: 0.01, max: 1, noNaN: true });

describe('timesOf', () => {
  test('Simple is linear', () => {
    expect(timesOf('Simple', 4)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  });

  test('Shifted has more steps near the noise', () => {
    const times = timesOf('Shifted', 4);
    expect(times.map((time) => Number(time.toFixed(3)))).toEqual([0, 0.143, 0.333, 0.6, 1]);
  });

  test('is increasing and ends at 1', () => {
    fc.assert(
      fc.property(anyScheduler, anySteps, anyStrength, (scheduler, steps, strength) => {
        const times = timesOf(scheduler, steps, strength);
        expect(times.length).toBe(steps + 1);
        expect(times[0]).toBeCloseTo(1 - strength, 10);
        expect(times.at(-1)).toBe(1);
        for (const [index, time] of times.slice(1).entries()) expect(time).toBeGreaterThan(times[index] as number);
      }),
    );
  });

  test('has no steps for strength 0', () => {
    expect(timesOf('Simple', 0, 0)).toEqual([1]);
    expect(stepsFor(20, 0)).toBe(0);
    expect(stepsFor(20, -1)).toBe(0);
  });
});

describe('stepsFor', () => {
  test('scales the steps with the strength', () => {
    expect([1, 0.75, 0.5, 0.26].map((strength) => stepsFor(20, strength))).toEqual([20, 15, 10, 5]);
  });

  test('is at least 1 and at most the requested steps', () => {
    fc.assert(
      fc.property(anySteps, fc.double({ min: 0.001, max: 3, noNaN: true }), (steps, strength) => {
        expect(stepsFor(steps, strength)).toBeGreaterThanOrEqual(1);
        expect(stepsFor(steps, strength)).toBeLessThanOrEqual(steps);
      }),
    );
  });
});

const anySeed = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

test('SeededNoise: the same seed gives the same numbers', () => {
  fc.assert(
    fc.property(anySeed, fc.integer({ min: 1, max: 64 }), (seed, count) => {
      expect(new SeededNoise(seed).take(count)).toEqual(new SeededNoise(seed).take(count));
    }),
  );
});

test('SeededNoise: different seeds give different numbers, also adjacent ones and beyond 32 bits', () => {
  fc.assert(
    fc.property(anySeed, (seed) => {
      const [own, next] = [seed, seed === 0 ? 1 : seed - 1].map((one) => new SeededNoise(one).take(16));
      expect(own).not.toEqual(next);
    }),
  );
  expect(new SeededNoise(5).take(8)).not.toEqual(new SeededNoise(2 ** 32 + 5).take(8));
});

test('SeededNoise: two even portions equal one', () => {
  const noise = new SeededNoise(7);
  const parts = [...noise.take(10), ...noise.take(6)];
  expect(parts).toEqual([...new SeededNoise(7).take(16)]);
});

test('SeededNoise: numbers are normally distributed, and adjacent seeds uncorrelated', () => {
  const count = 20_000;
  const [first, second] = [1, 2].map((seed) => new SeededNoise(seed).take(count)) as [Float32Array, Float32Array];
  const mean = (values: Iterable<number>) => [...values].reduce((sum, value) => sum + value, 0) / count;
  expect(mean(first)).toBeCloseTo(0, 1);
  expect(mean(first.map((value) => value * value))).toBeCloseTo(1, 1);
  expect(mean(first.map((value) => value ** 3))).toBeCloseTo(0, 0);
  expect(mean(first.map((value, index) => value * (second[index] as number)))).toBeCloseTo(0, 1);
  const within = first.filter((value) => Math.abs(value) < 1).length / count;
  expect(within).toBeCloseTo(0.683, 1);
  expect(first.every(Number.isFinite)).toBe(true);
});

test('SeededNoise: supports odd counts', () => {
  expect(new SeededNoise(3).take(5).length).toBe(5);
  expect(new SeededNoise(3).take(5)).toEqual(new SeededNoise(3).take(6).slice(0, 5));
  expect(new SeededNoise(3).take(0).length).toBe(0);
});
