import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { flagByName, flagGroups, flagOf } from './flags.ts';
import { configurationDocument, helpText, wrap } from './help.ts';

test('helpText: has every flag in its group', () => {
  const text = helpText(100);
  for (const { title, keys } of flagGroups.filter((group) => group.title !== 'Internal')) {
    expect(text).toContain(`\n${title}:\n`);
    for (const key of keys) expect(text).toContain(flagOf(key).names[0]);
  }
});

test.each([60, 80, 100, 200])('helpText: no line is wider than %i columns', (width) => {
  const longest = Math.max(
    ...helpText(width)
      .split('\n')
      .map((line) => line.length),
  );
  expect(longest).toBeLessThanOrEqual(width);
});

test('helpText: shows a flag with its text, limits and default', () => {
  expect(helpText(120)).toContain(
    '  --port PORT                   Port to listen on. Also the second positional argument. 0 picks a free port. (from 0 to\n' +
      '                                65535; default: 5001)\n',
  );
});

test('helpText: names the subcommands', () => {
  expect(helpText(60)).toMatch(
    /^ +parley run NAME .*\n +parley list .*\n +parley show .*\n +parley rm .*\n +parley search WORDS .*\n +parley pull SOURCE /m,
  );
});

test('helpText: puts a long name on a separate line', () => {
  expect(helpText(100)).toContain('  --gpulayers, --gpu-layers, --n-gpu-layers, -ngl [LAYERS]\n');
});

test('helpText: marks flags that have no effect yet', () => {
  expect(helpText(200)).toMatch(/--sdvaeauto .*\(not available yet\)/);
});

test('wrap: breaks at spaces', () => {
  expect(wrap('a bb ccc dddddd', 5)).toEqual(['a bb', 'ccc', 'dddddd']);
});

test('configurationDocument: equals docs/configuration.md', () => {
  const committed = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  expect(committed).toBe(configurationDocument());
});

test('configurationDocument: has every name of every flag', () => {
  const text = configurationDocument();
  for (const name of flagByName.keys()) expect(text).toContain(`\`${name}\``);
});

test('configurationDocument: flags that have no effect yet are in one table at the end', () => {
  const [before = '', list = ''] = configurationDocument().split('## Flags that have no effect yet\n');
  const listed = [...list.matchAll(/^\| `(--[\w-]+)`/gm)].map(([, name]) => name);
  const unsupported = flagGroups.flatMap(({ keys }) => keys.map(flagOf)).filter((flag) => flag.unsupported);
  expect(listed.toSorted()).toEqual(unsupported.map(({ names }) => names[0]).toSorted());
  for (const { names } of unsupported) expect(before).not.toContain(`| \`${names[0]}\``);
});

test('configurationDocument: rows have as many cells as the table head', () => {
  const tables = configurationDocument().match(/(?:^\|.*\n)+/gm) ?? [];
  const cells = (row: string) => row.split(/(?<!\\)\|/).length;
  for (const [head = '', ...rows] of tables.map((table) => table.trimEnd().split('\n'))) {
    expect(new Set(rows.map(cells))).toEqual(new Set([cells(head)]));
  }
});
