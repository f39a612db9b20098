import { describe, expect, test } from 'vitest';
import { rateLimit } from './authorize.ts';

describe('rateLimit', () => {
  test('the second request within the span is told how long to wait, in whole seconds', () => {
    const limit = rateLimit(10);
    expect(limit('a', 0)).toBe(0);
    expect(limit('a', 1)).toBe(10);
    expect(limit('a', 8500)).toBe(2);
    expect(limit('a', 9999)).toBe(1);
    expect(limit('a', 10_000)).toBe(0);
  });

  test('a refused request does not prolong the wait', () => {
    const limit = rateLimit(2);
    limit('a', 0);
    expect(limit('a', 1900)).toBe(1);
    expect(limit('a', 2000)).toBe(0);
  });

  test('addresses do not disturb one another', () => {
    const limit = rateLimit(10);
    expect(limit('a', 0)).toBe(0);
    expect(limit('b', 1)).toBe(0);
  });

  test('zero seconds mean no limit', () => {
    const limit = rateLimit(0);
    expect([limit('a', 0), limit('a', 0)]).toEqual([0, 0]);
  });

  test('only so many addresses are remembered, the oldest is forgotten first', () => {
    const limit = rateLimit(10, 2);
    limit('a', 0);
    limit('b', 1);
    limit('c', 2);
    expect(limit('b', 3)).toBe(10);
    expect(limit('c', 3)).toBe(10);
    expect(limit('a', 3)).toBe(0);
  });
});
