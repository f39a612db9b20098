import { describe, expect, test } from 'vitest';
import { rateLimit } from './authorize.ts';

describe('rateLimit', () => {
  test('the second request within the span is told how long to wait, in whole seconds', () => {
    const limit = rateLimit(10);
    expect(limit.take('a', 0)).toBe(0);
    expect(limit.take('a', 1)).toBe(10);
    expect(limit.take('a', 8500)).toBe(2);
    expect(limit.take('a', 9999)).toBe(1);
    expect(limit.take('a', 10_000)).toBe(0);
  });

  test('a refused request does not prolong the wait', () => {
    const limit = rateLimit(2);
    limit.take('a', 0);
    expect(limit.take('a', 1900)).toBe(1);
    expect(limit.take('a', 2000)).toBe(0);
  });

  test('addresses do not disturb one another', () => {
    const limit = rateLimit(10);
    expect(limit.take('a', 0)).toBe(0);
    expect(limit.take('b', 1)).toBe(0);
  });

  test('zero seconds mean no limit', () => {
    const limit = rateLimit(0);
    expect([limit.take('a', 0), limit.take('a', 0)]).toEqual([0, 0]);
  });

  test('only so many addresses are remembered, the oldest is forgotten first', () => {
    const limit = rateLimit(10, 2);
    limit.take('a', 0);
    limit.take('b', 1);
    limit.take('c', 2);
    expect(limit.take('b', 3)).toBe(10);
    expect(limit.take('c', 3)).toBe(10);
    expect(limit.take('a', 3)).toBe(0);
  });
});
