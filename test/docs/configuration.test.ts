import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configurationDocument } from '../../scripts/pages/configuration.ts';
import { flagByName, flagGroups, flagOf } from '../../src/config/flags.ts';

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
