import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { nativeClient } from '../../live/client.ts';
import type { LiveServer, StartServer } from '../../live/server.ts';
import { allDamages, damage } from '../damage.ts';
import { type Fault, faultGroup } from '../fault.ts';
import { newFolder, type StoringSubject, storeFlags, storingSubject, storingSubjectOf } from '../subject.ts';

interface Setting extends StoringSubject {
  /** Starts another server in this folder. */
  again(folder: string): Promise<LiveServer>;
}

const flags = (folder: string) => ['--diskcache', join(folder, 'cache')];
const records = (folder: string) => join(folder, recordFolder(folder));
const recordFolder = (folder: string) => {
  const file = readdirSync(folder, { withFileTypes: true }).find(
    (entry) => entry.isDirectory() && entry.name.startsWith('saves'),
  );
  if (!file) throw new Error(`no records in ${folder}: ${readdirSync(folder)}`);
  return file.name;
};
const storyFolder = (folder: string) => join(folder, 'home', 'stories');
const onlyFile = (folder: string) => {
  const [name] = readdirSync(folder).filter((each) => !/damaged/.test(each));
  return join(folder, name ?? '');
};

const longPrompt = Array.from({ length: 24 }, (_, line) => `Line ${line} about rain: ${line * 11}.`).join('\n');
async function completed({ base }: LiveServer): Promise<string> {
  const { json, status, text } = await nativeClient(base).post('/v1/completions', {
    prompt: longPrompt,
    max_tokens: 8,
    temperature: 0,
  });
  expect(status, text).toBe(200);
  return (json() as { choices: { text: string }[] }).choices[0]?.text ?? '';
}

/** The folder of the program is inside, so that the shared story is too. */
async function inFolder<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const before = process.env.PARLEY_HOME;
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true });
  process.env.PARLEY_HOME = home;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env.PARLEY_HOME;
    else process.env.PARLEY_HOME = before;
  }
}

async function opened(start: StartServer): Promise<Setting> {
  const folder = newFolder();
  const subject = await inFolder(folder, () => storingSubject(start, { folder, flags: flags(folder) }));
  await completed(subject.server);
  return {
    ...subject,
    again: (other) => inFolder(other, () => start([...storeFlags(other), ...flags(other)])),
  };
}

const running: readonly Fault<Setting>[] = allDamages.flatMap((how): Fault<Setting>[] => [
  {
    name: `save file ${how} while the server runs: its content is kept`,
    kind: 'storage',
    short: how === 'truncated',
    inject: async (setting) => {
      damage(setting.saves, how);
      await setting.intact();
    },
  },
  {
    name: `shared story ${how} while the server runs: it is kept`,
    kind: 'storage',
    inject: async (setting) => {
      damage(onlyFile(storyFolder(setting.folder)), how);
      await setting.intact();
    },
  },
  {
    name: `a record ${how} while the server runs: the others are kept, and it can be saved again`,
    kind: 'storage',
    inject: async (setting) => {
      const { post } = nativeClient(setting.server.base);
      const id = `lost${allDamages.indexOf(how)}`;
      const saved = await post('/api/extra/sync/save', { kind: 'chats', id, base: 0, data: 'x'.repeat(200) });
      const { revision } = saved.json() as { revision: number };
      damage(join(records(setting.folder), `chats.${id}.${revision}.json`), how);
      const load = await post('/api/extra/sync/load', { kind: 'chats', id });
      expect([500, load.text]).toEqual([load.status, expect.stringMatching(/is damaged/)]);
      const again = await post('/api/extra/sync/save', { kind: 'chats', id, base: revision, data: 'restored' });
      expect(again.json()).toMatchObject({ success: true });
      expect((await post('/api/extra/sync/load', { kind: 'chats', id })).text).toContain('restored');
    },
  },
  {
    name: `prompt cache ${how} while the server runs: the reply is the same`,
    kind: 'text',
    inject: async (setting) => {
      const { server, folder } = setting;
      const before = await completed(server);
      for (const name of readdirSync(join(folder, 'cache'))) damage(join(folder, 'cache', name), how);
      // Without its memory the engine has to read the disk.
      process.kill(server.worker() as number, 'SIGKILL');
      await expect.poll(() => completed(server).catch(() => undefined)).toBe(before);
    },
  },
]);

const down: readonly Fault<Setting>[] = allDamages.map((how) => ({
  name: `all stores and caches ${how} while the server is down: it starts, and puts damaged files aside`,
  kind: 'storage',
  inject: async (setting) => {
    const folder = newFolder();
    cpSync(setting.folder, folder, { recursive: true });
    const story = onlyFile(storyFolder(folder));
    for (const path of [join(folder, 'saves.jsondb'), story]) damage(path, how);
    for (const name of readdirSync(join(folder, 'cache'))) damage(join(folder, 'cache', name), how);
    const [first = ''] = readdirSync(records(folder));
    damage(join(records(folder), first), how);
    const server = await setting.again(folder);
    const { post } = nativeClient(server.base);
    expect((await post('/api/extra/data/list')).status).toBe(200);
    expect((await post('/api/extra/multiplayer/getstory')).status).toBe(200);
    if (how !== 'emptied') {
      // An empty file is none.
      expect(server.output()).toMatch(/is damaged .* It is kept as/);
      expect(readdirSync(folder).join()).toMatch(/saves\.jsondb\.damaged-/);
    }
    await completed(server);
    return storingSubjectOf(server, folder);
  },
}));

export const stores = (start: StartServer) =>
  faultGroup<Setting>({ name: 'stores and caches', open: () => opened(start), rows: [...running, ...down] });
