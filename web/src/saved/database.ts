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
] as const;
export type CollectionName = (typeof collectionNames)[number];

export interface Collection<Kept extends { readonly id: string }> {
  all(): Promise<Kept[]>;
  get(id: string): Promise<Kept | undefined>;
  put(kept: Kept): Promise<void>;
  remove(id: string): Promise<void>;
}

let opened: Promise<IDBDatabase> | undefined;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('parley', 2);
    request.onupgradeneeded = () => {
      const missing = collectionNames.filter((name) => !request.result.objectStoreNames.contains(name));
      for (const name of missing) request.result.createObjectStore(name, { keyPath: 'id' });
    };
    request.onsuccess = () => {
      // A page of a newer version in another tab needs the database closed to upgrade it.
      request.result.onversionchange = () => {
        request.result.close();
        opened = undefined;
      };
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
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

export function collection<Kept extends { readonly id: string }>(name: CollectionName): Collection<Kept> {
  return {
    all: () => run<Kept[]>(name, 'readonly', (store) => store.getAll()),
    get: (id) => run<Kept | undefined>(name, 'readonly', (store) => store.get(id)),
    put: async (kept) => void (await run(name, 'readwrite', (store) => store.put(kept))),
    remove: async (id) => void (await run(name, 'readwrite', (store) => store.delete(id))),
  };
}
