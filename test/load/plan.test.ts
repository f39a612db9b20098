import { expect, test } from 'vitest';
import { seededRandom } from '../../bench/seeded-random.ts';
import { streamTargets } from '../../bench/stream-targets.ts';
import { bodyOf, planDay } from './plan.ts';

test('planDay: has so many tasks of each kind, and texts of each dialect end in every way', () => {
  const plan = planDay(['picture', 'speech'], 60, seededRandom(1));
  expect(plan).toHaveLength(60 * (streamTargets.length + 2));
  const covered = new Set(plan.map(({ kind, ending }) => `${kind} ${ending.type}`));
  expect(covered.size).toBe(streamTargets.length * 3 + 2 * 2);
});

test('planDay: the same seed gives the same plan', () => {
  const [one, other] = [1, 1].map(() => planDay(['picture'], 5, seededRandom(7)));
  expect(one).toEqual(other);
});

test('bodyOf: puts the prompt where the dialect has it', () => {
  const bodies = streamTargets.map((target) => bodyOf(target, 5, 'PROMPT', 'KEY'));
  for (const body of bodies) expect(JSON.stringify(body)).toMatch(/PROMPT.*KEY/);
});
