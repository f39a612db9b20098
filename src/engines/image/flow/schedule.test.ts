import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { schedulers, stepsFor, timesOf } from './schedule.ts';

const anyScheduler = fc.constantFrom(...schedulers);
const anySteps = fc.integer({ min: 1, max: 150 });
const anyStrength = fc.double({ min: 0.01, max: 1, noNaN: true });

describe('the times of the steps', () => {
  test('lie evenly where nothing else is asked for', () => {
    expect(timesOf('Simple', 4)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  });

  test('lie closer where the picture is still noise when they are shifted', () => {
    const times = timesOf('Shifted', 4);
    expect(times.map((time) => Number(time.toFixed(3)))).toEqual([0, 0.143, 0.333, 0.6, 1]);
  });

  test('only go on, from the noise that is left to the picture', () => {
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

  test('of a picture from which nothing goes are none', () => {
    expect(timesOf('Simple', 0, 0)).toEqual([1]);
    expect(stepsFor(20, 0)).toBe(0);
    expect(stepsFor(20, -1)).toBe(0);
  });
});

describe('steps from a picture', () => {
  test('are the part that goes of those from noise', () => {
    expect([1, 0.75, 0.5, 0.26].map((strength) => stepsFor(20, strength))).toEqual([20, 15, 10, 5]);
  });

  test('are one at least, and never more than were asked for', () => {
    fc.assert(
      fc.property(anySteps, fc.double({ min: 0.001, max: 3, noNaN: true }), (steps, strength) => {
        expect(stepsFor(steps, strength)).toBeGreaterThanOrEqual(1);
        expect(stepsFor(steps, strength)).toBeLessThanOrEqual(steps);
      }),
    );
  });
});
