import { expect, test } from 'vitest';
import { flagGroups, flagOf } from './flags.ts';
import { helpText, wrap } from './help.ts';

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
