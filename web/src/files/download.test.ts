import { expect, test } from 'vitest';
import { fileName } from './download.ts';

test.each([
  ['Trip to Bergen', 'Trip to Bergen.json'],
  ['Why? a/b\\c: "d"', 'Why a b c d.json'],
  ['line\nbreak\u0007', 'line break.json'],
  ['…?', '….json'],
  ['???', 'untitled.json'],
  ['.hidden', 'hidden.json'],
  ['', 'untitled.json'],
  ['名前', '名前.json'],
  ['a'.repeat(200), `${'a'.repeat(80)}.json`],
])('fileName: %j becomes %j', (title, name) => {
  expect(fileName(title, '.json')).toBe(name);
});
