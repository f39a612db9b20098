import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { flagByName, flagGroups, flagOf } from './flags.ts';
import { configurationDocument, helpText, wrap } from './help.ts';

test('every flag is in the help under its group', () => {
  const text = helpText(100);
  for (const { title, keys } of flagGroups.filter((group) => group.title !== 'Internal')) {
    expect(text).toContain(`\n${title}:\n`);
    for (const key of keys) expect(text).toContain(flagOf(key).names[0]);
  }
});

test.each([60, 80, 100, 200])('no line is wider than %i columns', (width) => {
  const longest = Math.max(
    ...helpText(width)
      .split('\n')
      .map((line) => line.length),
  );
  expect(longest).toBeLessThanOrEqual(width);
});

test('a flag stands beside its text, with its limits and default', () => {
  expect(helpText(120)).toContain(
    '  --port PORT                   Port to listen on. Also the second positional argument. 0 picks a free port. (from 0 to\n' +
      '                                65535; default: 5001)\n',
  );
});

test('the commands beside the server are named', () => {
  expect(helpText(60)).toMatch(/^ +parley models .*\n +parley pull SOURCE /m);
});

test('long names stand on their own line', () => {
  expect(helpText(100)).toContain('  --gpulayers, --gpu-layers, --n-gpu-layers, -ngl [LAYERS]\n');
});

test('what is not there yet says so', () => {
  expect(helpText(200)).toMatch(/--sdvaeauto .*\(not available yet\)/);
});

test('text is broken at spaces', () => {
  expect(wrap('a bb ccc dddddd', 5)).toEqual(['a bb', 'ccc', 'dddddd']);
});

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
