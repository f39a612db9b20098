import { expect, test } from 'vitest';
import { strftime } from './strftime.ts';

const time = new Date(2026, 1, 3, 15, 4, 5);

test.each([
  ['%Y-%m-%d', '2026-02-03'],
  ['%d %b %Y', '03 Feb 2026'],
  ['%B %-d, %Y', 'February 3, 2026'],
  ['%A %H:%M:%S', 'Tuesday 15:04:05'],
  ['%I:%M %p', '03:04 PM'],
  ['day %j', 'day 034'],
  ['100%% %Q', '100% %Q'],
])('%s is written %s', (format, written) => {
  expect(strftime(time, format)).toBe(written);
});
