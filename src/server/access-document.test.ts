import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { accessTable } from './access.ts';
import { fillPaths } from './access-document.ts';
import { builtApp } from './testing/built-app.ts';

const rules = accessTable(await builtApp());
const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');

test('docs/security.md: its lists of paths are those of the endpoints', () => {
  expect(page, 'run `npm run docs`').toBe(fillPaths(page, rules));
});

test('fillPaths: names every path of the table', () => {
  const filled = fillPaths('<!-- paths -->\n<!-- /paths -->', rules);
  for (const key of rules.keys()) {
    const path = key.split(' ')[1] ?? '';
    expect(filled).toMatch(path.length > 1 && path.endsWith('/') ? `\`${path}…\`` : `\`${path}\``);
  }
});

test('fillPaths: throws without markers', () => {
  expect(() => fillPaths('<!-- /paths --> <!-- paths -->', rules)).toThrow('needs a line');
});

/** The lines "- `file`: title" of the threat model. */
const namedTests = [...page.matchAll(/^- `([^`]+\.test\.ts)`: (.+)$/gm)].map(([, file = '', title = '']) => ({
  file,
  title,
}));

test('docs/security.md: names tests for each attacker', () => {
  const attackers = page.slice(page.indexOf('## Threat model')).split(/^### /m).slice(1);
  expect(attackers).toHaveLength(8);
  for (const attacker of attackers) expect(attacker).toMatch(/^Tests:\n\n- `/m);
  expect(namedTests.length).toBeGreaterThan(40);
});

test.each(namedTests)('docs/security.md: $file has the test "$title"', ({ file, title }) => {
  const path = new URL(`../../${file}`, import.meta.url);
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path, 'utf8')).toContain(title);
});

test('docs/security.md: names only files that exist', () => {
  const files = [...page.matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(files.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
});
