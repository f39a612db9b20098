import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configurationDocument } from './document.ts';
import { flagByName } from './flags.ts';

test('docs/configuration.md is what the flag table says', () => {
  const committed = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  expect(committed).toBe(configurationDocument());
});

test('every name is in the document', () => {
  const text = configurationDocument();
  for (const name of flagByName.keys()) expect(text).toContain(`\`${name}\``);
});

test('every row of a table has as many cells as its head', () => {
  const rows = configurationDocument()
    .split('\n')
    .filter((line) => line.startsWith('|'));
  for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(5);
});
