import { expect, test } from 'vitest';
import { readFields } from './fields.ts';
import { keptAfter, ttlField } from './ttl.ts';

const read = (body: { [name: string]: number | string | null }) => readFields({ ttl: ttlField }, body).ttl;

test('ttl: seconds, or absent', () => {
  expect(read({ ttl: 1.5 })).toBe(1500);
  expect(read({ ttl: 0 })).toBe(0);
  expect(read({ ttl: null })).toBeUndefined();
  expect(read({})).toBeUndefined();
});

test.each([-1, '5m'])('ttl: %j is refused', (ttl) => {
  expect(() => read({ ttl })).toThrow(/ttl must be a number of seconds/);
});

test('keptAfter: sets the time once the events have ended', async () => {
  const times: number[] = [];
  async function* events() {
    yield 'a';
    expect(times).toEqual([]);
  }
  const model = { keepFor: (milliseconds: number) => times.push(milliseconds) };
  for await (const event of keptAfter(events(), 0, model)) expect(event).toBe('a');
  expect(times).toEqual([0]);
  const untouched = events();
  expect(keptAfter(untouched, undefined, model)).toBe(untouched);
});
