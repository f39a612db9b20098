import { describe, expect, test } from 'vitest';
import { type DayUsage, isExpired, type ListedKey, sumByClient } from './keys.ts';
import { clientName, usageLine, useLine } from './texts.ts';

const key: ListedKey = {
  name: 'phone',
  scopes: ['chat', 'images'],
  rate: 30,
  tokens_per_day: null,
  tokens_today: 0,
  weight: 2,
  shared: false,
  requests: 0,
  refused: 0,
  created: null,
  expires: null,
  last_seen: null,
};
const now = Date.parse('2026-11-17T12:00:00Z');
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

test('useLine: tokens of today, and their share of the limit', () => {
  const limited = { ...key, tokens_per_day: 2_000_000, tokens_today: 500_000 };
  expect(useLine(limited, now)).toBe('500,000 tokens today (25 %) · Not used since the server was started');
  expect(useLine({ ...key, tokens_today: 12 }, now)).toMatch(/^12 tokens today · /);
});

describe('usage', () => {
  const day: DayUsage = {
    day: '2026-11-18',
    type: 'key',
    name: 'phone',
    requests: 1,
    prompt_tokens: 10,
    completion_tokens: 5,
    images: 0,
    audio_seconds_in: 30,
    audio_seconds_out: 0,
  };

  test('sumByClient: adds the days of each client, most tokens first', () => {
    const big = { ...day, type: 'password', name: '', prompt_tokens: 100 };
    const sums = sumByClient([day, big, { ...day, day: '2026-11-17', images: 2 }, { ...day, type: 'address' }]);
    expect(sums.map(({ type, requests, prompt_tokens }) => [type, requests, prompt_tokens])).toEqual([
      ['password', 1, 100],
      ['key', 2, 20],
      ['address', 1, 10],
    ]);
    expect(sums[1]).toMatchObject({ images: 2, audio_seconds_in: 60, completion_tokens: 10 });
    expect(sums.map(clientName)).toEqual(['Password', 'phone', 'phone']);
  });

  test('usageLine: short numbers, lengths with units, nothing for zero', () => {
    expect(usageLine(day)).toBe('1 request · 10 tokens read · 5 written · 30 s heard');
    const much = { prompt_tokens: 2_345_678, images: 2, audio_seconds_in: 90, audio_seconds_out: 9000 };
    expect(usageLine({ ...day, ...much })).toBe(
      '1 request · 2.3M tokens read · 5 written · 2 images · 2 min heard · 2.5 h of sound made',
    );
  });
});

test('isExpired: from the moment of expiry on', () => {
  expect(isExpired({ ...key, expires: '2026-11-17T12:00:00Z' }, now)).toBe(true);
  expect(isExpired({ ...key, expires: '2026-11-17T12:00:01Z' }, now)).toBe(false);
  expect(isExpired(key, now)).toBe(false);
});
