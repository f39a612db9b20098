import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RecordServer, ServerSync, type SyncedRecord, type SyncState, unsynced } from './server-sync.ts';

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

/** A browser whose notes merge to the lines of both; lines that only the base has were deleted. */
function browser(server: RecordServer) {
  const notes = new Map<string, Note>();
  let state: SyncState = unsynced;
  const sync = new ServerSync({
    server,
    state: { read: () => state, write: (next) => (state = next) },
    collections: [
      {
        kind: 'chats',
        ids: () => [...notes.keys()],
        find: (id) => notes.get(id),
        remove: (id) => void notes.delete(id),
        merge: (record, base) => {
          const theirs = record as Note;
          const mine = notes.get(record.id)?.lines ?? [];
          const known = new Set((base as Note | undefined)?.lines ?? []);
          const added = mine.filter((line) => !known.has(line) && !theirs.lines.includes(line));
          notes.set(record.id, note(record.id, ...theirs.lines, ...added));
        },
      },
    ],
  });
  const put = (one: Note) => {
    notes.set(one.id, one);
    sync.changed('chats', one.id);
  };
  const remove = (id: string) => {
    notes.delete(id);
    sync.changed('chats', id);
  };
  return { sync, notes, put, remove, state: () => state };
}

test('ServerSync: the first round saves what the browser has and fetches what the server has', async () => {
  const { server, stored } = fakeServer();
  const desk = browser(server);
  desk.notes.set('a', note('a', 'desk'));
  await desk.sync.round();
  const phone = browser(server);
  phone.notes.set('b', note('b', 'phone'));
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
  expect(desk.state().changed).toEqual(['chats.a']);
  reachable = true;
  await desk.sync.round();
  expect(stored.size).toBe(1);
  expect(desk.state().changed).toEqual([]);
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
