import { setTimeout as wait } from 'node:timers/promises';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { startServer } from './server-process.ts';
import { type Holdings, holdingsOf, taskKinds, taskRounds } from './task-kinds.ts';

/** 200 tasks of each kind, one after the other and a third of them cut off: what the server and its workers hold afterwards. */
export async function leaksBench({ server: entry, quick, threads = 1, log }: BenchOptions): Promise<Row[]> {
  const server = await startServer(entry, {
    flags: ['--model', 'models/parley-mini.gguf', '--usecpu', '--threads', String(threads), '--contextsize', '1024'],
  });
  const base = `http://127.0.0.1:${server.port}`;
  const rows: Row[] = [];
  try {
    for (const [name, send] of Object.entries(taskKinds)) {
      // Loads what it needs, and lets caches and heaps find their size.
      const wrong = [...(await taskRounds(base, send, 20))];
      const before = await settled(server.pid);
      wrong.push(...(await taskRounds(base, send, quick ? 40 : 200)));
      const after = await settled(server.pid);
      log(`${name}: ${describe(before)} -> ${describe(after)}`);
      for (const line of wrong.slice(0, 3)) log(`! ${line}`);
      rows.push(...rowsOf(name, before, after, wrong.length));
    }
    return rows;
  } finally {
    await server.stop();
  }
}

/** Sockets and tasks that were cut off take a moment to end. */
async function settled(pid: number): Promise<Holdings> {
  let last = holdingsOf(pid);
  for (let still = 0, looks = 0; still < 4 && looks < 40; looks++) {
    await wait(250);
    const now = holdingsOf(pid);
    still = now.descriptors === last.descriptors && now.children === last.children ? still + 1 : 0;
    last = now;
  }
  return last;
}

function describe({
  serverMegabytes,
  childMegabytes,
  descriptors,
  threads,
  children,
  temporaryFiles,
}: Holdings): string {
  const memory = `${serverMegabytes.toFixed(0)} + ${childMegabytes.toFixed(0)} MB`;
  return `${memory}, ${descriptors} fds, ${threads} threads, ${children} children, ${temporaryFiles} files`;
}

function rowsOf(name: string, before: Holdings, after: Holdings, wrong: number): Row[] {
  const row = (what: string, value: number, unit: string, atMost: number): Row => {
    return { bench: 'leaks', what: `${name}: ${what}`, value, unit, goal: { atMost } };
  };
  const more = (of: keyof Holdings): number => after[of] - before[of];
  return [
    row('answers that were wrong', wrong, '', 0),
    row('memory of the server, more', more('serverMegabytes'), 'MB', 40),
    row('memory of the workers, more', more('childMegabytes'), 'MB', 40),
    row('file descriptors, more', more('descriptors'), '', 2),
    row('child processes, more', more('children'), '', 0),
    row('temporary files, more', more('temporaryFiles'), '', 0),
  ];
}
