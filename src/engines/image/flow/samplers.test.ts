import { describe, expect, test } from 'vitest';
import { moved, type SamplerName, samplers, stepBy, type Velocity } from './samplers.ts';

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

describe('every sampler', () => {
  test.each(samplers.filter((name) => name !== 'Euler a'))('%s follows a straight way exactly', async (name) => {
    expect(await way(name, 0.5, async () => Float32Array.of(2), 4)).toBeCloseTo(2.5, 5);
  });

  test('comes to the right place, those of second order much sooner', async () => {
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

  test('leaves what it was given as it was', async () => {
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

describe('how often the network is asked', () => {
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

  test('Euler never asks again', async () => {
    expect([await asked('Euler', 0.75), await asked('Euler a', 0.75)]).toEqual([[], []]);
  });

  test('Heun asks at the end of the step, but not at the end of the way', async () => {
    expect([await asked('Heun', 0.75), await asked('Heun', 1)]).toEqual([[0.75], []]);
  });

  test('Midpoint asks in the middle', async () => {
    expect([await asked('Midpoint', 0.75), await asked('Midpoint', 1)]).toEqual([[0.625], [0.75]]);
  });
});

describe('fresh noise', () => {
  /** A picture of one number, mixed with noise: the velocity is what leads from the one to the other. */
  const picture = 0.8;
  const step = (noise: number, from: number, to: number, fresh: number) =>
    stepBy['Euler a'](
      {
        x: Float32Array.of(picture * from + noise * (1 - from)),
        from,
        to,
        velocity: Float32Array.of(picture - noise),
      },
      { velocityAt: async () => Float32Array.of(0), noise: () => Float32Array.of(fresh) },
    );

  test('comes in the amount that belongs to the time, and the picture stays in it as much as it should', async () => {
    // What is left of the picture when noise, old and fresh, is nothing.
    expect((await step(0, 0.2, 0.6, 0))[0]).toBeCloseTo(picture * 0.6, 5);
    // Old and fresh noise together have the strength that is left at that time.
    const old = ((await step(1, 0.2, 0.6, 0))[0] as number) - picture * 0.6;
    const fresh = ((await step(0, 0.2, 0.6, 1))[0] as number) - picture * 0.6;
    expect(Math.hypot(old, fresh)).toBeCloseTo(0.4, 5);
    expect(fresh).toBeGreaterThan(0.1);
  });

  test('does not come in the last step', async () => {
    expect((await step(0.3, 0.9, 1, 100))[0]).toBeCloseTo(picture, 5);
  });
});

test('moving goes along the velocity, number by number', () => {
  expect([...moved(Float32Array.of(1, 2), Float32Array.of(10, -10), 0.5)]).toEqual([6, -3]);
});
