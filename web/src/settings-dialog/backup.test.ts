import { expect, test } from 'vitest';
import { type BackupRecord, backupOf, importedStorage, isOwnName, newRecords, partsOfBackup } from './backup.ts';

/** Without the file reader of browsers. */
const toDataUrl = async (blob: Blob): Promise<string> =>
  `data:${blob.type};base64,${btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())))}`;

async function written(...collections: [string, object[]][]): Promise<unknown> {
  let text = '';
  for await (const part of partsOfBackup({ 'parley.settings': '{"a":1}' }, collections, toDataUrl)) text += part;
  return JSON.parse(text);
}

test('backupOf: reads what partsOfBackup wrote, with files', async () => {
  const records = [
    { id: 'a', turns: { x: { text: 'Hi "you"', files: [{ blob: new Blob(['cat'], { type: 'image/png' }) }] } } },
    { id: 'b', vector: Float32Array.of(0.5, 2), bytes: Uint8Array.of(1, 255), none: null },
  ];
  const backup = backupOf(await written(['chats', records], ['stories', []]));
  expect(backup?.storage).toEqual({ 'parley.settings': '{"a":1}' });
  expect(backup?.collections.stories).toEqual([]);
  const [first, second] = (backup?.collections.chats ?? []) as unknown as typeof records;
  const blob = first?.turns?.x.files[0]?.blob as Blob;
  expect([blob.type, await blob.text(), first?.turns?.x.text]).toEqual(['image/png', 'cat', 'Hi "you"']);
  expect(second).toEqual(records[1]);
});

test('backupOf: other files are no backups, and records without an id are left out', async () => {
  expect(backupOf({ format: 'parley.chats' })).toBeUndefined();
  expect(backupOf(null)).toBeUndefined();
  expect(backupOf(await written(['chats', [{ name: 'x' }, { id: 'a' }]]))?.collections.chats).toEqual([{ id: 'a' }]);
  const foreign = { format: 'parley.backup', storage: { 'other.app': 'x', 'parley.key': 'secret', 'parley.look': 1 } };
  expect(backupOf(foreign)?.storage).toEqual({});
});

test('isOwnName: keys of the server, the state of the synchronisation and running work are not exported', () => {
  const own = ['parley.settings', 'parley.draft.chat.akeyb'];
  const others = [
    'parley.key',
    'parley.apiKey',
    'parley.sync',
    'parley.unsaved.chats.a',
    'parley.drawing.chat.x',
    'else',
  ];
  expect([...own, ...others].filter(isOwnName)).toEqual(own);
});

test('importedStorage: drafts and the choice of the server stay as they are here', () => {
  const here = { 'parley.draft.chat.a': 'here', 'parley.settings': '{"keepOnServer":false,"x":1}' };
  const from = {
    'parley.draft.chat.a': 'old',
    'parley.draft.chat.b': 'b',
    'parley.settings': '{"keepOnServer":true,"x":2}',
  };
  expect(importedStorage(here, from)).toEqual({
    'parley.draft.chat.b': 'b',
    'parley.settings': '{"keepOnServer":false,"x":2}',
  });
});

test('newRecords: adds missing records and replaces older ones', () => {
  const record = (id: string, changedAt: number): BackupRecord & { changedAt: number } => ({ id, changedAt });
  const here = [record('same', 5), record('older', 1), record('newer', 9)];
  const { added, newer } = newRecords(here, [
    record('same', 5),
    record('older', 2),
    record('newer', 3),
    record('new', 1),
  ]);
  expect(added.map(({ id }) => id)).toEqual(['new']);
  expect(newer.map(({ id }) => id)).toEqual(['older']);
});
