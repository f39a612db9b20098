import { describe, expect, test } from 'vitest';
import { holdingsOf, taskKinds, taskRounds } from '../../bench/task-kinds.ts';
import { type LiveServer, untrainedServers } from './server.ts';

const start = untrainedServers();
let server: Promise<LiveServer> | undefined;

/** The long version is `npm run bench -- leaks`. */
describe.runIf(process.platform === 'linux')(
  'many tasks of one kind, some disconnected: leak no processes, files or memory',
  () => {
    test.each(Object.keys(taskKinds))('%s', async (kind) => {
      server ??= start(['--usecpu', '--threads', '1', '--contextsize', '1024']);
      const { base, pid } = await server;
      const send = taskKinds[kind] as (typeof taskKinds)[string];
      expect(await taskRounds(base, send, 3)).toEqual([]);
      const before = holdingsOf(pid);
      expect(await taskRounds(base, send, 8)).toEqual([]);
      // Aborted sockets and uploads are cleaned up asynchronously, and pools of threads and connections find their size.
      await expect.poll(() => holdingsOf(pid).descriptors).toBeLessThanOrEqual(before.descriptors + 4);
      await expect.poll(() => holdingsOf(pid).temporaryFiles).toBe(0);
      await expect.poll(() => holdingsOf(pid).children).toBeLessThanOrEqual(before.children);
      const after = holdingsOf(pid);
      expect(after.serverMegabytes).toBeLessThan(before.serverMegabytes + 150);
      expect(after.childMegabytes).toBeLessThan(before.childMegabytes + 150);
    });
  },
);
