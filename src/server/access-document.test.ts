import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { accessTable } from './access.ts';
import { fillPaths } from './access-document.ts';

const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');

test('docs/security.md: its lists of paths are those of the access table', () => {
  expect(page, 'run `npm run docs`').toBe(fillPaths(page));
});

test('fillPaths: names every path of the table', () => {
  const filled = fillPaths('<!-- paths -->\n<!-- /paths -->');
  for (const key of accessTable.keys()) {
    const path = key.split(' ')[1] ?? '';
    expect(filled).toMatch(path.length > 1 && path.endsWith('/') ? `\`${path}…\`` : `\`${path}\``);
  }
});

test('fillPaths: throws without markers', () => {
  expect(() => fillPaths('<!-- /paths --> <!-- paths -->')).toThrow('needs a line');
});
