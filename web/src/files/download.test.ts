import { expect, test } from 'vitest';
import { fileName } from './download.ts';

test.each([
  ['Trip to Bergen.json', 'Trip to Bergen.json'],
  ['Why? a/b\\c: "d".json', 'Why a b c d.json'],
  ['line\nbreak\u0007.md', 'line break.md'],
  ['…?.md', '….md'],
  ['???.json', 'untitled.json'],
  ['.hidden', 'untitled.hidden'],
  ['', 'untitled'],
  ['名前.json', '名前.json'],
])('fileName: %j becomes %j', (title, name) => {
  expect(fileName(title)).toBe(name);
});
