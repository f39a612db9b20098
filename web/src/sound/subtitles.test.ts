import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clock, subtitles } from './subtitles.ts';

test.each([
  [0, '0:00'],
  [7.9, '0:07'],
  [62, '1:02'],
  [3723, '1:02:03'],
  [-1, '0:00'],
])('%d seconds read as %s', (seconds, expected) => {
  expect(clock(seconds)).toBe(expected);
});

test('subtitles: numbers the segments and writes times in milliseconds', () => {
  const segments = [
    { start: 0, end: 1.5, text: ' Hello there.' },
    { start: 3661.0015, end: 3662, text: 'And again.' },
  ];
  expect(subtitles(segments)).toBe(
    '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n01:01:01,002 --> 01:01:02,000\nAnd again.\n',
  );
});

test('subtitles: a time can be parsed from its time stamp', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 359_999_999 }), (thousandths) => {
      const written = subtitles([{ start: thousandths / 1000, end: 0, text: 'x' }]);
      const [, hours, minutes, seconds, rest] = /^1\n(\d\d):(\d\d):(\d\d),(\d{3})/.exec(written) ?? [];
      expect(((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(rest)).toBe(thousandths);
    }),
  );
});
