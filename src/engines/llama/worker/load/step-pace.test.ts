import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StepPace } from './step-pace.ts';

test('a model of usual speed gets eight seconds for a token', () => {
  const pace = new StepPace();
  expect(pace.boundMs(1)).toBe(8000);
  pace.took(1, 50);
  expect(pace.boundMs(1)).toBe(8000);
});

test('a huge one gets ten times what its tokens take', () => {
  const pace = new StepPace();
  pace.took(1, 20_000);
  expect(pace.boundMs(1)).toBe(200_000);
});

test('a prompt gets as much for each of its tokens', () => {
  const pace = new StepPace();
  pace.took(1, 100);
  expect(pace.boundMs(512)).toBe(512_000);
});

test('one slow step is forgotten after some hundred others', () => {
  const pace = new StepPace();
  pace.took(1, 60_000);
  for (let step = 0; step < 600; step += 1) pace.took(1, 50);
  expect(pace.boundMs(1)).toBe(8000);
});

test('a step that takes no longer than ten times the last one of its size never hangs', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2048 }), fc.double({ min: 0, max: 1e6, noNaN: true }), (rows, ms) => {
      const pace = new StepPace();
      pace.took(rows, ms);
      expect(pace.boundMs(rows)).toBeGreaterThanOrEqual(Math.max(8000, 9.99 * ms));
    }),
  );
});
