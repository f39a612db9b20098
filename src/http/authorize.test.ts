import { describe, expect, test } from 'vitest';
import { rateLimit } from './authorize.ts';

describe('rateLimit', () => {
  test('rejects the second request within the interval, with the wait in whole seconds', () => {
    const limit = rateLimit(10);
    expect(limit('a', 0)).toBe(0);
    expect(limit('a', 1)).toBe(10);
    expect(limit('a', 8500)).toBe(2);
    expect(limit('a', 9999)).toBe(1);
    expect(limit('a', 10_000)).toBe(0);
  });

  test('a rejected request does not extend the wait', () => {
    const limit = rateLimit(2);
    limit('a', 0);
    expect(limit('a', 1900)).toBe(1);
    expect(limit('a', 2000)).toBe(0);
  });

  test('limits each address separately', () => {
    const limit = rateLimit(10);
    expect(limit('a', 0)).toBe(0);
    expect(limit('b', 1)).toBe(0);
  });

  test('0 seconds disables the limit', () => {
    const limit = rateLimit(0);
    expect([limit('a', 0), limit('a', 0)]).toEqual([0, 0]);
  });

  test('forgets the oldest address beyond the maximum', () => {
    const limit = rateLimit(10, 2);
    limit('a', 0);
    limit('b', 1);
    limit('c', 2);
    expect(limit('b', 3)).toBe(10);
    expect(limit('c', 3)).toBe(10);
    expect(limit('a', 3)).toBe(0);
  });
});
