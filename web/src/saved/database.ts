import { notify } from '../ui/notices.svelte.ts';
import { texts } from './texts.ts';

/** The IndexedDB database. Each collection holds records by id. */
export const collectionNames = [
  'chats',
  'stories',
  'pictures',
  'sounds',
  'presets',
  'characters',
  'personas',
  'drafts',
  'histories',
  'documents',
  'scripts',
  'quick-replies',
] as const;
export type CollectionName = (typeof collectionNames)[number];

/** Changed parts of records and their revisions, by collection, record and part; see record-store.ts. */
export const partsStore = 'parts';
const version = 3;

export interface Collection<Kept extends { readonly id: string }> {
  all(): Promise<Kept[]>;
  get(id: string): Promise<Kept | undefined>;
  put(kept: Kept): Promise<void>;
  remove(id: string): Promise<void>;
}

let opened: Promise<IDBDatabase> | undefined;
let blocked: () => void = () => {};

/** Resolves if a tab of an older version keeps the database from being opened. It opens when that tab is closed. */
export const databaseBlocked = new Promise<void>((resolve) => {
  blocked = resolve;
});

export function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('parley', version);
    request.onupgradeneeded = () => {
      const { result } = request;
      const missing = collectionNames.filter((name) => !result.objectStoreNames.contains(name));
      for (const name of missing) result.createObjectStore(name, { keyPath: 'id' });
      if (!result.objectStoreNames.contains(partsStore))
        result.createObjectStore(partsStore, { keyPath: ['kind', 'of', 'part'] });
    };
    request.onblocked = () => {
      notify(texts.blocked, { kind: 'bad' });
      blocked();
    };
    request.onsuccess = () => {
      // A page of a newer version in another tab needs the database closed to upgrade it.
      request.result.onversionchange = () => {
        request.result.close();
        opened = undefined;
        notify(texts.outdated, { kind: 'bad' });
      };
      request.result.onclose = () => {
        opened = undefined;
      };
      resolve(request.result);
    };
    request.onerror = () => {
      opened = undefined;
      reject(request.error?.name === 'VersionError' ? new Error(texts.outdated) : request.error);
    };
  });
  return opened;
}

async function run<Result>(
  name: CollectionName,
  mode: IDBTransactionMode,
  ask: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const transaction = (await database()).transaction(name, mode, { durability: 'relaxed' });
  const request = ask(transaction.objectStore(name));
  // Commits at once, so that closing the page now loses nothing.
  if (mode === 'readwrite') transaction.commit();
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

/** Deletes everything, in one transaction. */
export async function clearDatabase(): Promise<void> {
  const stores = [...collectionNames, partsStore];
  const transaction = (await database()).transaction(stores, 'readwrite');
  for (const name of stores) transaction.objectStore(name).clear();
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

/** Records that are not shared between tabs; others belong in `Records`. */
export function collection<Kept extends { readonly id: string }>(name: CollectionName): Collection<Kept> {
  return {
    all: () => run<Kept[]>(name, 'readonly', (store) => store.getAll()),
    get: (id) => run<Kept | undefined>(name, 'readonly', (store) => store.get(id)),
    put: async (kept) => void (await run(name, 'readwrite', (store) => store.put(kept))),
    remove: async (id) => void (await run(name, 'readwrite', (store) => store.delete(id))),
  };
}
