import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/contributing.md', root), 'utf8');

/** A chapter of the page, with an example in place of what the reader adds. */
function chapter(title: string, placeholder: string, example: string): string {
  const [, section = ''] = page.split(`\n## ${title}\n`);
  return (section.split('\n## ')[0] ?? '').replaceAll(placeholder, example);
}

describe.each([
  ['Add an engine', '<kind>', 'music'],
  ['Add a dialect', '<dialect>', 'messages'],
])('contributing.md: %s', (title, placeholder, example) => {
  const text = chapter(title, placeholder, example);

  test('fits on one screen: at most 40 lines', () => {
    const { length } = text.trim().split('\n');
    expect(length).toBeGreaterThan(10);
    expect(length).toBeLessThanOrEqual(40);
  });

  test('names existing files', () => {
    const paths = [...text.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.filter((path) => !existsSync(fileURLToPath(new URL(path, root))))).toEqual([]);
  });
});
