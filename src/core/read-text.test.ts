import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readText } from './read-text.ts';

test('readText: returns the content of a file', () => {
  expect(readText(fileURLToPath(import.meta.url))).toContain("import { readText } from './read-text.ts';");
});

test.each(['./missing.txt', '.'])('readText: returns an empty text for %s', (path) => {
  expect(readText(fileURLToPath(new URL(path, import.meta.url)))).toBe('');
});
