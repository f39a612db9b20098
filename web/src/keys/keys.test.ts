import { describe, expect, test } from 'vitest';
import { isExpired, type ListedKey } from './keys.ts';
import { rulesLine, useLine } from './texts.ts';

const key: ListedKey = {
  name: 'phone',
  scopes: ['chat', 'images'],
  rate: 30,
  weight: 2,
  requests: 0,
  refused: 0,
  created: null,
  expires: null,
  last_seen: null,
};
const now = Date.parse('2026-11-17T12:00:00Z');
/** The moment after the last day, on the clock of this machine. */
const endOf = (year: number, month: number, day: number) => new Date(year, month - 1, day + 1).toISOString();

test('rulesLine: scopes, rate, weight, and the last day if there is one', () => {
  expect(rulesLine(key)).toBe('chat, images · 30 per minute · weight 2');
  expect(rulesLine({ ...key, scopes: [], rate: null, weight: 1 })).toBe('no scopes · no rate limit · weight 1');
  expect(rulesLine({ ...key, expires: endOf(2027, 1, 31) })).toMatch(/ · until Jan 31, 2027$/);
});

describe('useLine', () => {
  test('useLine: says that a key was not used', () => {
    expect(useLine(key, now)).toBe('Not used since the server was started');
  });

  test.each([
    ['2026-11-17T11:59:30Z', 'just now'],
    ['2026-11-17T11:59:00Z', '1 minute ago'],
    ['2026-11-17T09:30:00Z', '2 hours ago'],
    ['2026-11-10T12:00:00Z', '7 days ago'],
    // The clocks of both machines may differ.
    ['2026-11-17T12:05:00Z', 'just now'],
  ])('useLine: seen at %s is %s', (last_seen, ago) => {
    expect(useLine({ ...key, requests: 1200, last_seen }, now)).toBe(`1,200 requests · last seen ${ago}`);
  });

  test('useLine: counts requests over the rate', () => {
    const used = { ...key, requests: 1, refused: 3, last_seen: '2026-11-17T12:00:00Z' };
    expect(useLine(used, now)).toBe('1 request · 3 over the rate · last seen just now');
  });
});

test('isExpired: from the moment of expiry on', () => {
  expect(isExpired({ ...key, expires: '2026-11-17T12:00:00Z' }, now)).toBe(true);
  expect(isExpired({ ...key, expires: '2026-11-17T12:00:01Z' }, now)).toBe(false);
  expect(isExpired(key, now)).toBe(false);
});
