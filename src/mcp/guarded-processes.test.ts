import { expect, test } from 'vitest';
import { GuardedProcesses } from './guarded-processes.ts';
import type { ProcessEntry } from './process-tree.ts';

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

test('guard: a program that should be ending is still ended when the server goes before it', async () => {
  const { guarded, killed } = world(entry(10), entry(11, 10));
  guarded.add(10);
  void guarded.end(10);
  await guarded.endAll();
  expect(killed).toEqual(['SIGTERM 11', 'SIGTERM 10']);
});

test('guard: children that outlive a closed program are ended after a while', async () => {
  const { guarded, killed, table, pass } = world(entry(10), entry(11, 10));
  guarded.add(10);
  const ended = guarded.end(10);
  table.delete(10);
  table.set(11, entry(11, 1));
  await pass(5000);
  await ended;
  expect(killed).toEqual(['SIGTERM 11']);
});

test('guard: never ends another process that got the same number', async () => {
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

test('guard: a program that was gone before it was added is not waited for', async () => {
  const { guarded, killed } = world();
  guarded.add(10);
  await guarded.endAll();
  expect(killed).toEqual([]);
});
