import { expect, test } from 'vitest';
import { bodyOf, planRequest, seededRandom } from './soak-plan.ts';
import { streamTargets } from './stream-targets.ts';

test('a plan of some hundred requests meets every dialect in every way of ending', () => {
  const random = seededRandom(1);
  const seen = new Set(
    Array.from({ length: 600 }, () => planRequest(random)).map(({ target, ending }) => `${target.name} ${ending.type}`),
  );
  expect(seen.size).toBe(streamTargets.length * 3);
});

test('the same seed gives the same plan', () => {
  expect(planRequest(seededRandom(7))).toEqual(planRequest(seededRandom(7)));
});

test('the prompt goes where the dialect keeps it', () => {
  const planned = { tokens: 5, promptWords: 1, ending: { type: 'read' } } as const;
  const bodies = streamTargets.map((target) => bodyOf({ ...planned, target }, 'PROMPT', 'KEY'));
  for (const body of bodies) expect(JSON.stringify(body)).toMatch(/PROMPT.*KEY/);
});
