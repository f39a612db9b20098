import { chatShape } from '../conversations/merge.ts';
import { type CollectionName, clearDatabase, collectionNames } from '../saved/database.ts';
import { historyShape } from '../saved/history.ts';
import { plainShape, type Shape } from '../saved/merge.ts';
import { type RecordStore, recordStore } from '../saved/record-store.ts';
import { closeRecords, flushRecords } from '../saved/records.svelte.ts';
import { storyShape } from '../story/merge.ts';
import { type Backup, importedStorage, isOwnName, newRecords, ownerOf, partsOfBackup } from './backup.ts';

function ownStorage(): Record<string, string> {
  return Object.fromEntries(Object.entries({ ...localStorage } as Record<string, string>));
}

/** Everything that this browser keeps, as the parts of a file. */
export async function exportedParts(): Promise<Blob[]> {
  await flushRecords();
  const collections = await Promise.all(
    allRecords().map(async ([name, store]) => [name, (await store.all()).map(({ record }) => record)] as const),
  );
  const storage = Object.fromEntries(Object.entries(ownStorage()).filter(([name]) => isOwnName(name)));
  const parts: Blob[] = [];
  for await (const part of partsOfBackup(storage, collections)) parts.push(new Blob([part]));
  return parts;
}

/** What is here and newer stays. Settings are replaced. The tabs must be loaded again. */
export async function importBackup(backup: Backup): Promise<{ readonly added: number; readonly newer: number }> {
  await flushRecords();
  let [added, newer] = [0, 0];
  const replaced = new Set<string>();
  for (const [name, store] of allRecords()) {
    const here = new Map((await store.all()).map((stored) => [stored.record.id, stored]));
    const from = backup.collections[name] ?? [];
    const changes = newRecords<AnyRecord>(
      [...here.values()].map(({ record }) => record),
      from,
    );
    // A history belongs to the state of its record.
    const followers = name === 'histories' ? from.filter(({ id }) => here.has(id) && replaced.has(ownerOf(id))) : [];
    for (const record of [...changes.added, ...changes.newer, ...followers])
      await store.save(record.id, here.get(record.id), record);
    for (const { id } of [...changes.added, ...changes.newer]) replaced.add(`${name}.${id}`);
    added += changes.added.length;
    newer += changes.newer.length;
  }
  closeRecords();
  for (const [name, value] of Object.entries(importedStorage(ownStorage(), backup.storage)))
    localStorage.setItem(name, value);
  return { added, newer };
}

/** Deletes everything in this browser; records on the server stay. The tabs must be loaded again. */
export async function removeEverything(): Promise<void> {
  await flushRecords();
  await clearDatabase();
  closeRecords();
  // What other apps have shared and no page has taken.
  if ('caches' in globalThis)
    for (const name of await caches.keys()) if (name.startsWith('parley-shared')) await caches.delete(name);
  for (const name of Object.keys(ownStorage())) if (name.startsWith('parley.')) localStorage.removeItem(name);
}

// The shapes stay in the files of their collections, which the first load fetches anyway.
import '../conversations/library.svelte.ts';
import '../story/library.svelte.ts';

export interface AnyRecord {
  readonly id: string;
}

const shapes: Partial<Record<CollectionName, unknown>> = {
  chats: chatShape,
  stories: storyShape,
  histories: historyShape,
};

/** The stored records of all collections, whatever part of the pages they belong to. */
export function allRecords(): readonly (readonly [name: CollectionName, store: RecordStore<AnyRecord>])[] {
  return collectionNames.map((name) => {
    const shape = (shapes[name] ?? plainShape<AnyRecord>()) as Shape<AnyRecord>;
    return [name, recordStore(name, shape)];
  });
}
