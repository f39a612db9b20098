import { describe, expect, test } from 'vitest';
import { computedAgain } from './agents.ts';

describe('computedAgain', () => {
  const turns = (...cached: number[]) =>
    cached.map((cachedTokens, index) => ({ cachedTokens, promptTokens: 1000 + 100 * index }));
  test.each([
    ['nothing, if only what is new was computed', turns(0, 1000, 1100), 0],
    ['a turn that was lost', turns(0, 1000, 0), 550],
    ['more from the cache than the turn before does not count', turns(0, 1050, 1100), 0],
    ['a single turn', turns(0), 0],
  ])('%s', (_, seen, expected) => expect(computedAgain(seen)).toBe(expected));
});
