import { join } from 'node:path';
import { expect } from 'vitest';
import { runProgram } from '../../live/program.ts';
import type { LiveServer, StartServer } from '../../live/server.ts';
import { allDamages, damage } from '../damage.ts';
import { type Fault, faultGroup, type Subject } from '../fault.ts';
import { newFolder } from '../subject.ts';
import { until } from '../until.ts';

interface Setting extends Subject {
  readonly path: string;
  readonly key: string;
  /** Starts another server on the same file. */
  again(): Promise<LiveServer>;
}

async function statusWith({ base }: LiveServer, key: string): Promise<number> {
  const reply = await fetch(`${base}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ input: 'weather' }),
  });
  await reply.text();
  return reply.status;
}

const subjectOf = (server: LiveServer, key: string): Subject => ({
  server,
  serves: async () => expect(await statusWith(server, key)).toBe(200),
  intact: async () => expect(await statusWith(server, 'parley_wrong')).toBe(401),
});

const rows: readonly Fault<Setting>[] = allDamages.flatMap((how): Fault<Setting>[] => [
  {
    name: `key file ${how} while the server runs: its keys stay valid`,
    kind: 'embedding',
    short: how === 'truncated',
    inject: async ({ server, path, key }) => {
      const complaints = () => server.output().split('cannot be read').length;
      const before = complaints();
      const repair = damage(path, how);
      await until(() => complaints() > before);
      expect(await statusWith(server, key)).toBe(200);
      expect(await statusWith(server, 'parley_wrong')).toBe(401);
      repair();
    },
  },
  {
    name: `key file ${how} while the server is down: no key is valid until it is repaired`,
    kind: 'embedding',
    inject: async ({ again, path, key }) => {
      const repair = damage(path, how);
      const server = await again();
      expect(await statusWith(server, key)).toBe(401);
      expect(await statusWith(server, '')).toBe(401);
      repair();
      return subjectOf(server, key);
    },
  },
]);

export const keyFile = (start: StartServer) =>
  faultGroup<Setting>({
    name: 'key file',
    open: async () => {
      const path = join(newFolder(), 'keys.json');
      const { stdout } = await runProgram(['keys', 'add', 'tester', '--keyfile', path]);
      const key = /parley_\S+/.exec(stdout)?.[0] ?? '';
      const again = () => start(['--nomodel', '--keyfile', path]);
      const server = await again();
      return { ...subjectOf(server, key), path, key, again };
    },
    rows,
  });
