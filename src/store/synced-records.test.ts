import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  RecordTooLong,
  recordName,
  SyncedRecords,
  type SyncedRecordsOptions,
  TooManyRecords,
} from './synced-records.ts';
import { freshFolders } from './testing/folder.ts';

const freshFolder = freshFolders();

function recordsIn(own: Partial<SyncedRecordsOptions> = {}) {
  const folder = own.folder ?? freshFolder();
  const records = new SyncedRecords({ folder, parse: async (bytes) => JSON.parse(bytes.toString()), ...own });
  const load = async (id: string) => {
    const found = await records.load(chat(id));
    return found && JSON.parse(found.json.toString()).data;
  };
  return { folder, records, load };
}

const chat = (id: string) => ({ kind: 'chats', id }) as const;

test('SyncedRecords: lists nothing while the folder is missing', async () => {
  const { records, folder } = recordsIn({ folder: join(freshFolder(), 'none') });
  expect(await records.list()).toEqual({ revision: 0, records: [] });
  expect(await records.load(chat('a'))).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
});

test('SyncedRecords: loads what was saved, and lists what changed since a revision', async () => {
  const { records, load } = recordsIn();
  expect(await records.save(chat('a'), 0, 'Ein "Text"\n語 🦜')).toEqual({ saved: true, revision: 1 });
  expect(await records.save({ kind: 'stories', id: 'a' }, 0, 'Story')).toEqual({ saved: true, revision: 2 });
  expect(await records.save(chat('a'), 1, 'Changed')).toEqual({ saved: true, revision: 3 });
  expect(await load('a')).toBe('Changed');
  expect(await records.list(2)).toEqual({ revision: 3, records: [{ ...chat('a'), revision: 3, deleted: false }] });
});

test('SyncedRecords: does not save over a newer record', async () => {
  const { records, load } = recordsIn();
  await records.save(chat('a'), 0, 'First');
  await records.save(chat('a'), 1, 'Second');
  expect(await records.save(chat('a'), 1, 'Late')).toEqual({ saved: false, revision: 2 });
  expect(await records.save(chat('b'), 7, 'Unknown')).toEqual({ saved: false, revision: 0 });
  expect(await load('a')).toBe('Second');
});

test('SyncedRecords: remembers deleted records', async () => {
  const { records, folder, load } = recordsIn();
  await records.save(chat('a'), 0, 'First');
  expect(await records.save(chat('a'), 1, undefined)).toEqual({ saved: true, revision: 2 });
  expect(await load('a')).toBeUndefined();
  expect((await records.list(1)).records).toEqual([{ ...chat('a'), revision: 2, deleted: true }]);
  expect(readdirSync(folder)).toEqual(['chats.a.2.deleted']);
});

test('SyncedRecords: the newer revision counts if a crash has left two', async () => {
  const { records, folder, load } = recordsIn();
  await records.save(chat('a'), 0, 'Old');
  writeFileSync(join(folder, 'chats.a.5.json'), '{"file_version":1,"data":"New"}');
  writeFileSync(join(folder, 'chats.a.6.json.99.part'), '{"file_ver');
  expect(await load('a')).toBe('New');
  expect(await records.save(chat('a'), 5, 'Newest')).toEqual({ saved: true, revision: 6 });
});

test('SyncedRecords: leaves a file of a newer version alone, and reports a damaged one', async () => {
  const { records, folder } = recordsIn();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'chats.a.1.json'), '{"file_version":2,"data":"Later"}');
  writeFileSync(join(folder, 'chats.b.2.json'), '{"file_version":1,"da');
  await expect(records.load(chat('a'))).rejects.toThrow('left alone: it was written by a newer version');
  await expect(records.load(chat('b'))).rejects.toThrow('chats.b.2.json is damaged');
});

test('SyncedRecords: limits the number of records and the length of each', async () => {
  const { records } = recordsIn({ limits: { records: 1, characters: 5 } });
  await expect(records.save(chat('a'), 0, '123456')).rejects.toBeInstanceOf(RecordTooLong);
  await records.save(chat('a'), 0, '12345');
  await expect(records.save(chat('b'), 0, '1')).rejects.toBeInstanceOf(TooManyRecords);
  expect(await records.save(chat('a'), 1, '1')).toMatchObject({ saved: true });
});

test('SyncedRecords: deleted records do not count against the limit', async () => {
  const { records } = recordsIn({ limits: { records: 2, characters: 5 } });
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    const { revision } = await records.save(chat(id), 0, '1');
    expect(await records.save(chat(id), revision, undefined)).toMatchObject({ saved: true });
  }
  await records.save(chat('f'), 0, '1');
  await records.save(chat('g'), 0, '1');
  await expect(records.save(chat('h'), 0, '1')).rejects.toBeInstanceOf(TooManyRecords);
});

test('SyncedRecords: a deleted record that is saved again counts', async () => {
  const { records } = recordsIn({ limits: { records: 1, characters: 5 } });
  await records.save(chat('a'), 0, '1');
  await records.save(chat('a'), 1, undefined);
  await records.save(chat('b'), 0, '1');
  await expect(records.save(chat('a'), 2, '2')).rejects.toBeInstanceOf(TooManyRecords);
});

test('SyncedRecords: keeps the newest deleted records, as many as there may be records', async () => {
  const { records, folder } = recordsIn({ limits: { records: 2, characters: 5 } });
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    const { revision } = await records.save(chat(id), 0, '1');
    await records.save(chat(id), revision, undefined);
  }
  // One more may be there until the next change.
  expect(readdirSync(folder).sort()).toEqual(['chats.c.6.deleted', 'chats.d.8.deleted', 'chats.e.10.deleted']);
  expect((await records.list()).revision).toBe(10);
});

test('SyncedRecords: of concurrent saves from one base exactly one succeeds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 }), async (names) => {
      const { records } = recordsIn();
      const results = await Promise.all(names.map((id, index) => records.save(chat(id), 0, `${index}`)));
      expect(results.filter(({ saved }) => saved)).toHaveLength(new Set(names).size);
    }),
    { numRuns: 20 },
  );
});

test.each(['../a', 'A', '', 'a.b', 'a'.repeat(65)])('recordName: refuses the id %j', (id) => {
  expect(recordName('chats', id)).toBeUndefined();
});

test('recordName: refuses an unknown kind', () => {
  expect(recordName('secrets', 'a')).toBeUndefined();
  expect(recordName('chats', 'abc123')).toEqual({ kind: 'chats', id: 'abc123' });
});
