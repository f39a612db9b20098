import { expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import { type Step, withEarlier } from './generation-steps.ts';

const finish = {
  type: 'finish',
  reason: 'tool-calls',
  cause: 'end-token',
  usage: { promptTokens: 90, cachedTokens: 60, completionTokens: 20, reasoningTokens: 0 },
  timings: { initMs: 1, promptMs: 30, generationMs: 200, processedTokens: 30, draft: { accepted: 3, rejected: 1 } },
} satisfies GenerationEvent;

const decision: Step = {
  usage: { promptTokens: 80, cachedTokens: 0, completionTokens: 12 },
  timings: { initMs: 2, promptMs: 80, generationMs: 120, processedTokens: 80, draft: { accepted: 4, rejected: 2 } },
};

test('withEarlier: adds completion tokens as reasoning tokens, keeps the last prompt', () => {
  expect(withEarlier(finish, [decision])).toEqual({
    ...finish,
    usage: { promptTokens: 90, cachedTokens: 60, completionTokens: 32, reasoningTokens: 12 },
    timings: { initMs: 83, promptMs: 30, generationMs: 320, processedTokens: 30, draft: { accepted: 7, rejected: 3 } },
  });
});

test('withEarlier: counts tokens of steps without timings', () => {
  const told = withEarlier(finish, [{ ...decision, timings: undefined }]);
  expect(told).toMatchObject({ usage: { completionTokens: 32 }, timings: finish.timings });
});

test.each([
  ['nothing earlier', finish, []],
  ['another event', { type: 'text-delta', text: 'Hi' }, [decision]],
] satisfies [string, GenerationEvent, Step[]][])('%s changes nothing', (_, event, earlier) => {
  expect(withEarlier(event, earlier)).toBe(event);
});
