import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import type { HubFiles } from '../core/models-view.ts';
import { firstReplySpeed, slowModelAdvice } from './slow-model.ts';

function finish(completionTokens: number, seconds: number): GenerationEvent {
  const usage = { promptTokens: 1, cachedTokens: 0, completionTokens };
  const timings = { initMs: 0, promptMs: 0, generationMs: seconds * 1000, processedTokens: 1 };
  return { type: 'finish', reason: 'stop', cause: 'end-token', usage, timings };
}

describe('firstReplySpeed', () => {
  const speeds = (...replies: readonly GenerationEvent[]) => {
    const slow: number[] = [];
    const { event } = firstReplySpeed((speed) => slow.push(speed));
    for (const reply of replies) event?.(reply, {} as never);
    return slow;
  };

  test('tells a slow first reply once', () => {
    expect(speeds(finish(20, 10), finish(20, 10))).toEqual([2]);
  });

  test('a fast first reply, a short one and one without time say nothing', () => {
    expect(speeds(finish(30, 10), finish(20, 10))).toEqual([]);
    expect(speeds(finish(2, 10), finish(32, 16))).toEqual([2]);
    expect(speeds(finish(20, 0))).toEqual([]);
  });
});

describe('slowModelAdvice', () => {
  const advice = (sizes: Record<string, number>, own: { speed?: number; repository?: string | undefined } = {}) => {
    const files = Object.entries(sizes).map(([name, gigabytes]) => ({ name, bytes: gigabytes * 1e9 }));
    const { speed = 2, repository = 'acme/foo' } = own;
    return slowModelAdvice({
      name: 'foo-Q8_0',
      tokensPerSecond: speed,
      bytes: 9e9,
      repository,
      files: async () => ({ files }) as unknown as HubFiles,
    });
  };
  const sizes = { Q8_0: 9, Q6_K: 7, Q4_K_M: 5.5, Q3_K_M: 4, IQ2_M: 3 };

  test('names the largest file that is fast enough', async () => {
    expect(await advice(sizes)).toBe(
      'foo-Q8_0 writes 2.0 tokens a second on this computer. Its file Q4_K_M (5.5 GB instead of 9.0 GB) would be faster: parley pull acme/foo:Q4_K_M',
    );
  });

  test('names the smallest good one where none is fast enough', async () => {
    expect(await advice(sizes, { speed: 0.5 })).toContain('parley pull acme/foo:Q3_K_M');
  });

  test.each([
    ['no smaller file', advice({ Q8_0: 9 })],
    ['only coarse ones', advice({ Q8_0: 9, 'UD-Q2_K_XL': 3, IQ1_S: 2 })],
    [
      'no hub',
      slowModelAdvice({
        name: 'foo',
        tokensPerSecond: 1,
        bytes: 9e9,
        repository: 'acme/foo',
        files: () => Promise.reject(new Error('offline')),
      }),
    ],
    [
      'no repository',
      slowModelAdvice({
        name: 'foo',
        tokensPerSecond: 1,
        bytes: 9e9,
        repository: undefined,
        files: () => Promise.reject(new Error('not asked')),
      }),
    ],
  ])('%s: a smaller model', async (_, sentence) => {
    expect(await sentence).toMatch(/A smaller model would be faster: parley search lists those/);
  });
});
