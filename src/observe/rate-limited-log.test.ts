import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RateLimitedLog } from './rate-limited-log.ts';

function world(lines?: number) {
  const written: string[] = [];
  const timers: (() => void)[] = [];
  const repeats = new RateLimitedLog({
    log: (line) => written.push(line),
    startTimer: (_, action) => timers.push(action),
    ...(lines !== undefined && { lines }),
  });
  const minuteOver = () => {
    for (const action of timers.splice(0)) action();
  };
  return { repeats, written, minuteOver };
}

const times = (count: number, action: () => void) => {
  for (let time = 0; time < count; time += 1) action();
};

test('RateLimitedLog: writes the first lines of a kind', () => {
  const { repeats, written, minuteOver } = world();
  times(3, () => repeats.log('busy', 'refused'));
  minuteOver();
  expect(written).toEqual(['refused', 'refused', 'refused']);
});

test('RateLimitedLog: counts further lines and reports them after a minute', () => {
  const { repeats, written, minuteOver } = world(2);
  times(39, () => repeats.log('busy', 'refused'));
  expect(written).toEqual(['refused', 'refused']);
  minuteOver();
  expect(written.at(-1)).toBe('… 37 more like this in the last minute (busy)');
  repeats.log('busy', 'again');
  expect(written.at(-1)).toBe('again');
});

test('RateLimitedLog: kinds have separate limits', () => {
  const { repeats, written } = world(1);
  times(10, () => repeats.log('busy', 'refused'));
  repeats.log('unauthorized', 'no key');
  expect(written).toEqual(['refused', 'no key']);
});

test('RateLimitedLog: at most the limit and one line per kind and minute; the count is complete', () => {
  const kinds = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 200 });
  fc.assert(
    fc.property(kinds, (list) => {
      const { repeats, written, minuteOver } = world(3);
      for (const kind of list) repeats.log(kind, kind);
      minuteOver();
      for (const kind of ['a', 'b', 'c']) {
        const lines = written.filter((line) => line === kind).length;
        const more = Number(written.find((line) => line.endsWith(`(${kind})`))?.match(/\d+/)?.[0] ?? 0);
        expect(lines).toBeLessThanOrEqual(3);
        expect(lines + more).toBe(list.filter((one) => one === kind).length);
      }
    }),
  );
});
