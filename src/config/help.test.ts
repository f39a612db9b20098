import { expect, test } from 'vitest';
import { flagGroups, flagOf } from './flags.ts';
import { helpText, wrap } from './help.ts';

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
    '  --port PORT                   Port to listen on. The second argument without a flag means the same. 0 takes any free\n' +
      '                                port. (from 0 to 65535; default: 5001)\n',
  );
});

test('the commands beside the server are named', () => {
  expect(helpText(60)).toMatch(/^ +parley models .*\n +parley pull SOURCE /m);
});

test('long names stand on their own line', () => {
  expect(helpText(100)).toContain('  --gpulayers, --gpu-layers, --n-gpu-layers, -ngl [LAYERS]\n');
});

test('what is not there yet says so', () => {
  expect(helpText(200)).toMatch(/--musiclowvram .*\(not available yet\)/);
});

test('text is broken at spaces', () => {
  expect(wrap('a bb ccc dddddd', 5)).toEqual(['a bb', 'ccc', 'dddddd']);
});
