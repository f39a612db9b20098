import fc from 'fast-check';
import { expect, test } from 'vitest';
import { processTree, readProcessStat, readProcessTable } from './process-tree.ts';

test('a tree is a process and all that came of it, children before their parents', () => {
  const table = [
    { pid: 10, parent: 1 },
    { pid: 11, parent: 10 },
    { pid: 12, parent: 11 },
    { pid: 20, parent: 1 },
  ];
  expect(processTree([10], table)).toEqual([12, 11, 10]);
  expect(processTree([20, 10], table)).toEqual([12, 11, 10, 20]);
});

test('a process that is not in the table is still named', () => {
  expect(processTree([7], [])).toEqual([7]);
});

test('no table makes it go round in circles, and nobody is named twice', () => {
  const entry = fc.record({ pid: fc.integer({ min: 2, max: 9 }), parent: fc.integer({ min: 1, max: 9 }) });
  fc.assert(
    fc.property(fc.array(entry), fc.array(fc.integer({ min: 2, max: 9 })), (table, roots) => {
      const tree = processTree(roots, table);
      expect(new Set(tree).size).toBe(tree.length);
      for (const root of roots) expect(tree).toContain(root);
    }),
  );
});

test('readProcessTable: reads pid, parent and start time, and leaves zombies out', () => {
  const text = [
    '    1     0 Ss   Mon Nov 16 08:00:00 2026',
    '  42     1 S+   Mon Nov 16 08:00:01 2026  ',
    '  43     1 Z    Mon Nov 16 08:00:02 2026',
    'nonsense',
  ].join('\n');
  expect(readProcessTable(text)).toEqual([
    { pid: 1, parent: 0, startedAt: 'Mon Nov 16 08:00:00 2026' },
    { pid: 42, parent: 1, startedAt: 'Mon Nov 16 08:00:01 2026' },
  ]);
});

test('readProcessStat: a name with brackets and spaces does not hide the parent and the start time', () => {
  const others = Array.from({ length: 17 }, (_, index) => index + 5).join(' ');
  expect(readProcessStat(`42 (a) (b c)) S 7 ${others} 9876 23 24\n`)).toEqual({
    pid: 42,
    parent: 7,
    startedAt: '9876',
  });
  expect(readProcessStat(`42 (a) Z 7 ${others} 9876 23 24`)).toBeUndefined();
  expect(readProcessStat('')).toBeUndefined();
});
