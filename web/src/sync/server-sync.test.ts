import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  OtherLibrary,
  RecordRefused,
  type RecordServer,
  ServerSync,
  type SyncedRecord,
  type SyncState,
  unsynced,
} from './server-sync.ts';

interface Note extends SyncedRecord {
  readonly lines: readonly string[];
}

const note = (id: string, ...lines: string[]): Note => ({ id, lines });

/** The records of a server as `src/store/synced-records.ts` keeps them. */
function fakeServer() {
  const stored = new Map<string, { revision: number; record: Note | undefined }>();
  let last = 0;
  const server: RecordServer = {
    list: async (since) => ({
      revision: last,
      records: [...stored]
        .filter(([, { revision }]) => revision > since)
        .map(([key, { revision, record }]) => ({
          kind: 'chats',
          id: key.replace('chats.', ''),
          revision,
          deleted: record === undefined,
        })),
    }),
    load: async (kind, id) => {
      const { revision = 0, record } = stored.get(`${kind}.${id}`) ?? {};
      return record && { revision, record };
    },
    save: async (kind, id, base, record) => {
      const known = stored.get(`${kind}.${id}`)?.revision ?? 0;
      if (known !== base) return { saved: false, revision: known };
      last += 1;
      stored.set(`${kind}.${id}`, { revision: last, record: record as Note | undefined });
      return { saved: true, revision: last };
    },
  };
  return { server, stored };
}

/** A browser whose notes merge to the lines of both; lines that one side deleted since the base are gone. */
function browser(server: RecordServer) {
  const notes = new Map<string, Note>();
  const revisions = new Map<string, number>();
  let state: SyncState = unsynced;
  let count = 0;
  const put = (one: Note): void => {
    notes.set(one.id, one);
    count += 1;
    revisions.set(one.id, count);
  };
  const remove = (id: string): void => void notes.delete(id);
  const local = (id: string) => {
    const record = notes.get(id);
    return record && { record, revision: `${revisions.get(id)}` };
  };
  const sync = new ServerSync({
    server,
    state: { read: () => state, write: (next) => (state = next) },
    collections: [
      {
        kind: 'chats',
        all: () => [...notes.keys()].flatMap((id) => local(id) ?? []),
        find: async (id) => local(id),
        wasRemoved: async (id) => revisions.has(id) && !notes.has(id),
        isBusy: (record) => (record as Note).lines.at(-1) === 'busy',
        remove: async (id) => remove(id),
        merge: async (record, base) => {
          const theirs = (record as Note).lines;
          const mine = notes.get(record.id)?.lines ?? [];
          const known = (base as Note | undefined)?.lines ?? [];
          const isGone = (line: string) => known.includes(line) && !(mine.includes(line) && theirs.includes(line));
          const lines = [...new Set([...theirs, ...mine])].filter((line) => !isGone(line));
          if (lines.join() !== mine.join() || !notes.has(record.id)) put(note(record.id, ...lines));
        },
      },
    ],
  });
  const choose = (): void => {
    state = { ...state, chosen: true };
  };
  return { sync, notes, put, remove, choose, state: () => state };
}

test('ServerSync: the first round saves what the browser has and fetches what the server has', async () => {
  const { server, stored } = fakeServer();
  const desk = browser(server);
  desk.put(note('a', 'desk'));
  await desk.sync.round();
  const phone = browser(server);
  phone.put(note('b', 'phone'));
  await phone.sync.round();
  await desk.sync.round();
  expect([...desk.notes.keys()]).toEqual(['a', 'b']);
  expect(phone.notes).toEqual(desk.notes);
  expect(stored.size).toBe(2);
});

test('ServerSync: merges a record that both browsers have changed', async () => {
  const { server } = fakeServer();
  const [desk, phone] = [browser(server), browser(server)];
  desk.put(note('a', '1'));
  await desk.sync.round();
  await phone.sync.round();
  desk.put(note('a', '1', 'desk'));
  phone.put(note('a', '1', 'phone'));
  await desk.sync.round();
  await phone.sync.round();
  await desk.sync.round();
  expect(desk.notes.get('a')?.lines.toSorted()).toEqual(['1', 'desk', 'phone']);
  expect(phone.notes.get('a')?.lines.toSorted()).toEqual(['1', 'desk', 'phone']);
});

test('ServerSync: a change replaces what was deleted within a record, if only one browser changed it', async () => {
  const { server } = fakeServer();
  const [desk, phone] = [browser(server), browser(server)];
  desk.put(note('a', '1', '2'));
  await desk.sync.round();
  await phone.sync.round();
  desk.put(note('a', '2'));
  await desk.sync.round();
  await phone.sync.round();
  expect(phone.notes.get('a')?.lines).toEqual(['2']);
});

test('ServerSync: a deleted record disappears elsewhere, unless it was changed there', async () => {
  const { server } = fakeServer();
  const [desk, phone] = [browser(server), browser(server)];
  desk.put(note('a', '1'));
  desk.put(note('b', '1'));
  await desk.sync.round();
  await phone.sync.round();
  desk.remove('a');
  desk.remove('b');
  phone.put(note('b', '1', 'changed'));
  await desk.sync.round();
  await phone.sync.round();
  await desk.sync.round();
  expect([...phone.notes]).toEqual([['b', note('b', '1', 'changed')]]);
  expect(desk.notes).toEqual(phone.notes);
});

test('ServerSync: saves again on a server that has lost its records', async () => {
  const { server, stored } = fakeServer();
  const desk = browser(server);
  desk.put(note('a', '1'));
  await desk.sync.round();
  stored.clear();
  desk.put(note('a', '1', '2'));
  await desk.sync.round();
  expect(stored.get('chats.a')?.record?.lines).toEqual(['1', '2']);
});

test('ServerSync: gives another server everything', async () => {
  const first = fakeServer();
  const second = fakeServer();
  let server = first.server;
  const desk = browser({
    list: (since) => server.list(since),
    load: (kind, id) => server.load(kind, id),
    save: (...what) => server.save(...what),
  });
  desk.put(note('a', '1'));
  await desk.sync.round();
  server = second.server;
  await desk.sync.round();
  expect(second.stored.get('chats.a')?.record?.lines).toEqual(['1']);
});

test('ServerSync: with another key, gives its library everything and loses nothing, if that was chosen', async () => {
  const [common, own] = [fakeServer(), fakeServer()];
  const other = browser(own.server);
  for (const line of ['x', 'y', 'z']) {
    other.put(note('theirs', line));
    await other.sync.round();
  }
  other.put(note('a', '1'));
  await other.sync.round();
  let used = common.server;
  const desk = browser({
    list: async (since) => ({ ...(await used.list(since)), ...(used === own.server && { library: 'key phone' }) }),
    load: (kind, id) => used.load(kind, id),
    save: (...what) => used.save(...what),
  });
  desk.put(note('a', '1', '2'));
  for (let round = 0; round < 2; round += 1) await desk.sync.round();
  used = own.server;
  const before = [structuredClone(desk.notes), structuredClone(own.stored), desk.state()];
  await expect(desk.sync.round()).rejects.toThrow(OtherLibrary);
  expect([desk.notes, own.stored, desk.state()]).toEqual(before);
  desk.choose();
  for (let round = 0; round < 2; round += 1) await desk.sync.round();
  expect(desk.notes.get('a')?.lines).toEqual(['1', '2']);
  expect(own.stored.get('chats.a')?.record?.lines).toEqual(['1', '2']);
  expect(desk.notes.get('theirs')?.lines).toEqual(['z']);
  expect(desk.state().library).toBe('key phone');
  expect(desk.state()).not.toHaveProperty('chosen');
  used = common.server;
  await expect(desk.sync.round()).rejects.toThrow(OtherLibrary);
  desk.choose();
  await desk.sync.round();
  expect(desk.state()).not.toHaveProperty('library');
  expect(common.stored.get('chats.theirs')?.record?.lines).toEqual(['z']);
});

test('ServerSync: keeps changes for the next round if the server cannot be reached', async () => {
  const { server, stored } = fakeServer();
  let reachable = false;
  const desk = browser({
    ...server,
    save: async (...what) => {
      if (!reachable) throw new Error('offline');
      return server.save(...what);
    },
  });
  desk.put(note('a', '1'));
  await expect(desk.sync.round()).rejects.toThrow('offline');
  reachable = true;
  await desk.sync.round();
  expect(stored.size).toBe(1);
});

/** Counts what is asked of a server. */
function counted(server: RecordServer) {
  const counts = { list: 0, load: 0, save: 0 };
  const counting: RecordServer = {
    list: (since) => {
      counts.list += 1;
      return server.list(since);
    },
    load: (kind, id) => {
      counts.load += 1;
      return server.load(kind, id);
    },
    save: (...what) => {
      counts.save += 1;
      return server.save(...what);
    },
  };
  return { counts, counting };
}

test('ServerSync: rounds without changes only ask what is new', async () => {
  const { server } = fakeServer();
  const { counting, counts } = counted(server);
  const [desk, phone] = [browser(counting), browser(counting)];
  desk.put(note('a', '1'));
  desk.put(note('gone', '1'));
  for (const one of [desk, phone, desk]) await one.sync.round();
  desk.remove('gone');
  phone.put(note('a', '1', '2'));
  for (const one of [desk, phone, desk, phone]) await one.sync.round();
  Object.assign(counts, { list: 0, load: 0, save: 0 });
  for (const one of [desk, phone, desk, phone]) await one.sync.round();
  expect(counts).toEqual({ list: 4, load: 0, save: 0 });
});

test('ServerSync: two browsers with the same records save them once', async () => {
  const { server } = fakeServer();
  const { counting, counts } = counted(server);
  for (const one of [browser(counting), browser(counting)]) {
    one.put(note('a', '1'));
    await one.sync.round();
  }
  expect(counts.save).toBe(1);
});

test('ServerSync: what was deleted within a record stays deleted if the other browser has changed it too', async () => {
  const { server } = fakeServer();
  const [desk, phone] = [browser(server), browser(server)];
  desk.put(note('a', '1', '2'));
  for (const one of [desk, phone, desk]) await one.sync.round();
  desk.put(note('a', '2'));
  phone.put(note('a', '1', '2', 'phone'));
  for (const one of [desk, phone, desk]) await one.sync.round();
  expect(desk.notes.get('a')?.lines).toEqual(['2', 'phone']);
  expect(phone.notes).toEqual(desk.notes);
});

test('ServerSync: a record that waits for its reply is saved afterwards', async () => {
  const { server, stored } = fakeServer();
  const desk = browser(server);
  desk.put(note('a', '1', 'busy'));
  await desk.sync.round();
  expect(stored.size).toBe(0);
  desk.put(note('a', '1', 'reply'));
  await desk.sync.round();
  expect(stored.get('chats.a')?.record?.lines).toEqual(['1', 'reply']);
});

test('ServerSync: a record that the server refuses is sent again when it is changed, and others are saved', async () => {
  const { server, stored } = fakeServer();
  const { counting, counts } = counted({
    ...server,
    save: async (kind, id, base, record) => {
      if ((record as Note).lines.includes('long')) throw new RecordRefused('Too large.');
      return server.save(kind, id, base, record);
    },
  });
  const desk = browser(counting);
  desk.put(note('a', 'long'));
  desk.put(note('b', 'short'));
  for (let round = 0; round < 3; round += 1) await desk.sync.round();
  expect([counts.save, [...stored.keys()]]).toEqual([2, ['chats.b']]);
  expect(desk.state().refused['chats.a']?.reason).toBe('Too large.');
  desk.put(note('a', 'short'));
  await desk.sync.round();
  expect([...stored.keys()]).toEqual(['chats.b', 'chats.a']);
  expect(desk.state().refused).toEqual({});
});

test('ServerSync: browsers end with the same records and lose no line, whatever the order of edits and rounds', async () => {
  const step = fc.record({ who: fc.nat(2), id: fc.constantFrom('a', 'b'), what: fc.constantFrom('edit', 'round') });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { server } = fakeServer();
      const browsers = [browser(server), browser(server), browser(server)];
      const written: string[] = [];
      const rounds: Promise<void>[] = [];
      for (const [index, { who, id, what }] of steps.entries()) {
        const one = browsers[who];
        if (!one) continue;
        if (what === 'round') rounds.push(one.sync.round());
        else {
          one.put(note(id, ...(one.notes.get(id)?.lines ?? []), `${index}`));
          written.push(`${id}${index}`);
        }
      }
      await Promise.all(rounds);
      for (let count = 0; count < 2; count += 1) for (const one of browsers) await one.sync.round();
      const views = browsers.map(({ notes }) =>
        [...notes.values()].flatMap(({ id, lines }) => lines.map((line) => `${id}${line}`)).toSorted(),
      );
      expect(views).toEqual(browsers.map(() => written.toSorted()));
    }),
    { numRuns: 200 },
  );
});
