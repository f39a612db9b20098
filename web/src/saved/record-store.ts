import { type CollectionName, database, partsStore } from './database.ts';
import { newId } from './id.ts';
import { head, type Parts, type Patch, patched, patchOf, patchSize, type Shape } from './merge.ts';

/** A record as it was stored. The revision changes with each write, of any tab. */
export interface Stored<Kept> {
  readonly record: Kept;
  readonly revision: string;
}

export interface Saved<Kept> extends Stored<Kept> {
  /** What changed since `seen`; missing if another tab had written meanwhile. */
  readonly patch?: Patch;
}

/** Records in the database. Each method is one transaction. */
export interface RecordStore<Kept> {
  all(): Promise<Stored<Kept>[]>;
  get(id: string): Promise<Stored<Kept> | undefined>;
  /** Whether there was such a record, and it was removed. */
  wasRemoved(id: string): Promise<boolean>;
  /** Writes `mine`, merged with what another tab has written since `seen`. */
  save(id: string, seen: Stored<Kept> | undefined, mine: Kept): Promise<Saved<Kept>>;
  /** Removes the record, unless another tab has written since `seen`: then returns that. */
  remove(id: string, seen: Stored<Kept> | undefined): Promise<Stored<Kept> | undefined>;
}

/** A changed part since the record was stored as a whole; without a value it was removed. */
interface StoredPart {
  readonly kind: CollectionName;
  readonly of: string;
  readonly part: string;
  readonly value?: unknown;
}

/** The part with the revision; its value is missing for records that were never changed by part. */
const revisionPart = '';
/** A write of more parts stores the whole record again. */
const maxParts = 64;
/** With more stored parts than this, the next write stores the whole record again. */
const maxStoredParts = 256;

/**
 * The whole record is in its collection, and the parts that have changed since in a store of their own: writing a chat of
 * 2,000 turns took some 16 ms in a probe on bare IndexedDB, writing one turn 0.3 ms, and its pictures are not written again.
 */
export function recordStore<Kept extends { readonly id: string }>(
  kind: CollectionName,
  shape: Shape<Kept>,
): RecordStore<Kept> {
  async function transaction(mode: IDBTransactionMode) {
    const opened = (await database()).transaction([kind, partsStore], mode, { durability: 'relaxed' });
    return { opened, wholes: opened.objectStore(kind), parts: opened.objectStore(partsStore) };
  }
  type Stores = Awaited<ReturnType<typeof transaction>>;
  /** Number of stored parts by record, about. */
  const counts = new Map<string, number>();

  function joined(whole: Kept, changed: readonly StoredPart[]): Kept {
    const values = changed.filter(({ part }) => part !== revisionPart);
    return shape.join(
      patched(shape.split(whole), {
        set: Object.fromEntries(values.flatMap(({ part, value }) => (value === undefined ? [] : [[part, value]]))),
        gone: values.flatMap(({ part, value }) => (value === undefined ? [part] : [])),
      }),
    );
  }

  async function read({ wholes, parts }: Stores, id: string): Promise<Stored<Kept> | undefined> {
    const [whole, changed] = await Promise.all([
      settled<Kept | undefined>(wholes.get(id)),
      settled<StoredPart[]>(parts.getAll(within(kind, id))),
    ]);
    counts.set(id, changed.length);
    return whole && { record: joined(whole, changed), revision: revisionIn(changed) };
  }

  function writeWhole({ wholes, parts }: Stores, record: Kept): void {
    parts.delete(within(kind, record.id));
    wholes.put(record);
  }

  function writeParts({ parts }: Stores, of: string, { set, gone }: Patch): void {
    for (const [part, value] of Object.entries(set)) parts.put({ kind, of, part, value } satisfies StoredPart);
    for (const part of gone) parts.put({ kind, of, part } satisfies StoredPart);
  }

  function writeRevision({ opened, parts }: Stores, of: string): string {
    const revision = newId();
    parts.put({ kind, of, part: revisionPart, value: revision } satisfies StoredPart);
    opened.commit();
    return revision;
  }

  function write(stores: Stores, before: Kept | undefined, record: Kept): Patch {
    const parts = shape.split(record);
    const patch = patchOf(before ? shape.split(before) : {}, parts);
    const size = patchSize(patch);
    const stored = counts.get(record.id) ?? 0;
    const whole = !before || size > maxParts || stored > maxStoredParts || onlyHead(parts);
    if (whole) writeWhole(stores, record);
    else writeParts(stores, record.id, patch);
    counts.set(record.id, whole ? 0 : stored + size);
    return patch;
  }

  return {
    async all() {
      const stores = await transaction('readonly');
      const [wholes, parts] = await Promise.all([
        settled<Kept[]>(stores.wholes.getAll()),
        settled<StoredPart[]>(stores.parts.getAll(within(kind))),
      ]);
      const byRecord = new Map<string, StoredPart[]>();
      for (const part of parts) {
        const list = byRecord.get(part.of);
        if (list) list.push(part);
        else byRecord.set(part.of, [part]);
      }
      return wholes.map((whole) => {
        const changed = byRecord.get(whole.id) ?? [];
        counts.set(whole.id, changed.length);
        return { record: joined(whole, changed), revision: revisionIn(changed) };
      });
    },

    async get(id) {
      const stores = await transaction('readonly');
      return read(stores, id);
    },

    async wasRemoved(id) {
      const { wholes, parts } = await transaction('readonly');
      const [whole, revision] = await Promise.all([
        settled(wholes.getKey(id)),
        settled(parts.getKey([kind, id, revisionPart])),
      ]);
      return whole === undefined && revision !== undefined;
    },

    async save(id, seen, mine) {
      const stores = await transaction('readwrite');
      return finished(stores.opened, async () => {
        const revision = await settled<StoredPart | undefined>(stores.parts.get([kind, id, revisionPart]));
        if (seen && revisionIn(revision ? [revision] : []) === seen.revision) {
          const patch = write(stores, seen.record, mine);
          return { record: mine, revision: writeRevision(stores, id), patch };
        }
        const stored = await read(stores, id);
        const record = stored ? shape.merge(seen?.record, mine, stored.record) : mine;
        write(stores, stored?.record, record);
        return { record, revision: writeRevision(stores, id) };
      });
    },

    async remove(id, seen) {
      const stores = await transaction('readwrite');
      return finished(stores.opened, async () => {
        const stored = await read(stores, id);
        if (stored && seen && stored.revision !== seen.revision) {
          stores.opened.commit();
          return stored;
        }
        stores.wholes.delete(id);
        stores.parts.delete(within(kind, id));
        // The revision stays, so that a tab that does not know of the removal writes its whole record.
        writeRevision(stores, id);
        return undefined;
      });
    },
  };
}

const onlyHead = (parts: Parts): boolean => Object.keys(parts).every((name) => name === head);

const within = (...path: readonly string[]): IDBKeyRange => IDBKeyRange.bound(path, [...path, []]);

function revisionIn(parts: readonly StoredPart[]): string {
  return String(parts.find(({ part }) => part === revisionPart)?.value ?? '');
}

function settled<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** The result of the work when the transaction is complete. */
async function finished<Result>(opened: IDBTransaction, work: () => Promise<Result>): Promise<Result> {
  const complete = new Promise<void>((resolve, reject) => {
    opened.oncomplete = () => resolve();
    opened.onerror = opened.onabort = () => reject(opened.error);
  });
  complete.catch(() => {});
  let result: Result;
  try {
    result = await work();
  } catch (thrown) {
    try {
      opened.abort();
    } catch {
      // It has ended already.
    }
    throw opened.error ?? thrown;
  }
  await complete;
  return result;
}
