import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  GuardedProcesses,
  type ProcessEntry,
  processTree,
  readProcessStat,
  readProcessTable,
} from './guarded-processes.ts';

const entry = (pid: number, parent = 1, startedAt = '1'): ProcessEntry => ({ pid, parent, startedAt });

function world(...entries: ProcessEntry[]) {
  const table = new Map(entries.map((one) => [one.pid, one]));
  const killed: string[] = [];
  const waits: { readonly milliseconds: number; readonly pass: () => void }[] = [];
  const stubborn = new Set<number>();
  const guarded = new GuardedProcesses({
    table: () => [...table.values()],
    kill: (pid, signal) => {
      killed.push(`${signal} ${pid}`);
      if (signal === 'SIGKILL' || !stubborn.has(pid)) table.delete(pid);
    },
    wait: (milliseconds) => new Promise((pass) => waits.push({ milliseconds, pass })),
  });
  const pass = async (milliseconds: number): Promise<void> => {
    const next = waits.shift();
    expect(next?.milliseconds).toBe(milliseconds);
    next?.pass();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { table, killed, waits, stubborn, guarded, pass };
}

test('guard: ends programs and their children with the server, and forces those that ignore SIGTERM', async () => {
  const { guarded, killed, stubborn, pass } = world(entry(10), entry(11, 10), entry(20));
  guarded.add(10);
  stubborn.add(10);
  const ended = guarded.endAll();
  await pass(1000);
  await ended;
  expect(killed).toEqual(['SIGTERM 11', 'SIGTERM 10', 'SIGKILL 10']);
});

test('guard: ends a closing program if the server ends first', async () => {
  const { guarded, killed } = world(entry(10), entry(11, 10));
  guarded.add(10);
  void guarded.end(10);
  await guarded.endAll();
  expect(killed).toEqual(['SIGTERM 11', 'SIGTERM 10']);
});

test('guard: ends children that outlive a closed program', async () => {
  const { guarded, killed, table, pass } = world(entry(10), entry(11, 10));
  guarded.add(10);
  const ended = guarded.end(10);
  table.delete(10);
  table.set(11, entry(11, 1));
  await pass(5000);
  await ended;
  expect(killed).toEqual(['SIGTERM 11']);
});

test('guard: never ends another process that got the same pid', async () => {
  const { guarded, killed, table, pass } = world(entry(10), entry(30));
  guarded.add(10);
  guarded.add(30);
  const ended = guarded.end(10);
  table.set(10, entry(10, 1, '2'));
  table.set(30, entry(30, 1, '2'));
  await pass(5000);
  await ended;
  await guarded.endAll();
  expect(killed).toEqual([]);
});

test('guard: does not wait for a program that ended before it was added', async () => {
  const { guarded, killed } = world();
  guarded.add(10);
  await guarded.endAll();
  expect(killed).toEqual([]);
});

test('processTree: a process and its descendants, children first', () => {
  const table = [
    { pid: 10, parent: 1 },
    { pid: 11, parent: 10 },
    { pid: 12, parent: 11 },
    { pid: 20, parent: 1 },
  ];
  expect(processTree([10], table)).toEqual([12, 11, 10]);
  expect(processTree([20, 10], table)).toEqual([12, 11, 10, 20]);
});

test('processTree: includes a process that is not in the table', () => {
  expect(processTree([7], [])).toEqual([7]);
});

test('processTree: ends for cyclic tables, without duplicates', () => {
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

test('readProcessStat: parent and start time for a name with brackets and spaces', () => {
  const others = Array.from({ length: 17 }, (_, index) => index + 5).join(' ');
  expect(readProcessStat(`42 (a) (b c)) S 7 ${others} 9876 23 24\n`)).toEqual({
    pid: 42,
    parent: 7,
    startedAt: '9876',
  });
  expect(readProcessStat(`42 (a) Z 7 ${others} 9876 23 24`)).toBeUndefined();
  expect(readProcessStat('')).toBeUndefined();
});
