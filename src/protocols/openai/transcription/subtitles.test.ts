import fc from 'fast-check';
import { expect, test } from 'vitest';
import { srtText, vttText } from './subtitles.ts';

const segments = [
  { start: 0, end: 1.5, text: ' Hello there.' },
  { start: 61.0005, end: 3723.9996, text: ' And\n\nagain --> so.' },
];

test('SubRip counts its cues from 1, with a comma before the thousandths', () => {
  expect(srtText(segments)).toBe(
    '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n00:01:01,001 --> 01:02:04,000\nAnd\nagain -> so.\n\n',
  );
});

test('WebVTT begins with its name', () => {
  expect(vttText(segments.slice(0, 1))).toBe('WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n');
});

test('nothing said is no cue', () => {
  expect(srtText([])).toBe('');
  expect(vttText([])).toBe('WEBVTT\n\n');
});

test('times are always readable and never run back, whatever the segment says', () => {
  const time = fc.double({ min: -5, max: 400_000, noNaN: true });
  fc.assert(
    fc.property(time, time, (start, end) => {
      const [, first = '', last = ''] =
        /^1\n(\d{2,}:[0-5]\d:[0-5]\d,\d{3}) --> (\d{2,}:[0-5]\d:[0-5]\d,\d{3})\nx\n\n$/.exec(
          srtText([{ start, end, text: 'x' }]),
        ) ?? [];
      expect(first).not.toBe('');
      expect(seconds(last)).toBeGreaterThanOrEqual(seconds(first));
    }),
  );
});

function seconds(clock: string): number {
  const [hours = 0, minutes = 0, rest = 0] = clock.replace(',', '.').split(':').map(Number);
  return hours * 3600 + minutes * 60 + rest;
}
