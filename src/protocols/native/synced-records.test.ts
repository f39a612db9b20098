import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Libraries } from '../../core/owner.ts';
import type { ClientKey } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { SyncedRecords } from '../../store/synced-records.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import { callOf } from '../testing/doubles.ts';
import { type SyncContext, syncEndpoints } from './synced-records.ts';

const freshFolder = freshFolders();

function synced(limits = { records: 2, characters: 100 }) {
  const folder = freshFolder();
  const warnings: string[] = [];
  const parse = async (bytes: Buffer) => JSON.parse(bytes.toString());
  const records = new Libraries((library) => new SyncedRecords({ folder: join(folder, library), parse, limits }));
  return { folder, warnings, ask: asking({ records, warn: (sentence) => void warnings.push(sentence) }) };
}

function asking(parts: SyncContext) {
  const endpoints = router(syncEndpoints(parts));
  return async (what: 'list' | 'load' | 'save', body: unknown = {}, key?: ClientKey) => {
    const path = `/api/extra/sync/${what}`;
    const reply = await endpoints.find('POST', path)?.handle(callOf(path, body, { ...(key && { key }) }), undefined);
    if (!reply || !('body' in reply)) throw new Error('no whole reply');
    return [reply.status, JSON.parse(Buffer.from(reply.body).toString())];
  };
}

const chat = { kind: 'chats', id: 'abc' };

test('sync: saves, lists, loads and deletes records', async () => {
  const { ask } = synced();
  expect(await ask('save', { ...chat, data: '{"title":"Hi"}' })).toEqual([200, { success: true, revision: 1 }]);
  expect(await ask('load', chat)).toEqual([
    200,
    { success: true, revision: 1, record: { file_version: 1, data: '{"title":"Hi"}' } },
  ]);
  expect(await ask('save', { ...chat, base: 1 })).toEqual([200, { success: true, revision: 2 }]);
  expect(await ask('list', { since: 1 })).toEqual([
    200,
    { revision: 2, records: [{ ...chat, revision: 2, deleted: true }] },
  ]);
  expect(await ask('load', chat)).toEqual([404, { success: false, error: 'There is no such record.' }]);
});

test('sync: a key has records of its own, a shared key those of everybody', async () => {
  const { ask } = synced();
  const phone: ClientKey = { name: 'phone', scopes: ['chat'], weight: 1, shared: false };
  const [desk, family] = [
    { ...phone, name: 'desk' },
    { ...phone, shared: true },
  ];
  await ask('save', { ...chat, data: 'of all' });
  await ask('save', { ...chat, data: 'of phone' }, phone);
  const data = async (key?: ClientKey) => (await ask('load', chat, key))[1].record?.data;
  expect([await data(), await data(family), await data(phone), await data(desk)]).toEqual([
    ...['of all', 'of all', 'of phone', undefined],
  ]);
  expect((await ask('list', {}, phone))[1]).toMatchObject({ library: 'key phone', records: [chat] });
  expect((await ask('list', {}, family))[1]).not.toHaveProperty('library');
});

test('sync: answers 409 with the stored revision if that is newer', async () => {
  const { ask } = synced();
  await ask('save', { ...chat, data: 'First' });
  expect(await ask('save', { ...chat, data: 'Second' })).toEqual([409, expect.objectContaining({ revision: 1 })]);
});

test('sync: refuses bad names, long records and too many records', async () => {
  const { ask } = synced();
  expect((await ask('save', { kind: 'chats', id: '../x', data: 'x' }))[0]).toBe(400);
  expect((await ask('load', { kind: 'secrets', id: 'x' }))[0]).toBe(404);
  expect((await ask('save', { ...chat, data: 'x'.repeat(101) }))[0]).toBe(413);
  for (const id of ['a', 'b']) await ask('save', { kind: 'chats', id, data: 'x' });
  expect((await ask('save', { ...chat, data: 'x' }))[0]).toBe(507);
  await expect(ask('save', { kind: 'chats', id: 3 })).rejects.toThrow('id');
});

test('sync: says which flag is missing', async () => {
  const ask = asking({ warn: () => {} });
  expect(await ask('list')).toEqual([
    400,
    { success: false, error: 'Nothing is kept on this server. Start it with --savedatafile FILE.' },
  ]);
});

test('sync: reports a folder that cannot be used', async () => {
  const { folder, warnings } = synced();
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const records = new Libraries(() => new SyncedRecords({ folder: file, parse: async () => ({}) }));
  const ask = asking({ records, warn: (sentence) => void warnings.push(sentence) });
  expect((await ask('list'))[0]).toBe(500);
  expect(warnings).toHaveLength(1);
});
