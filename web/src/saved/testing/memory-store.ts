import { patchOf, type Shape } from '../merge.ts';
import type { RecordStore, Stored } from '../record-store.ts';

/** Like `recordStore`, in memory. `records` may be changed by a test, like by a tab that cannot be heard. */
export function memoryStore<Kept extends { readonly id: string }>(
  records: Map<string, unknown>,
  shape: Shape<Kept>,
  { turn = async () => {}, fails = () => undefined as Error | undefined } = {},
): RecordStore<Kept> {
  const revisions = revisionsOf(records);
  const stored = (id: string): Stored<Kept> | undefined => {
    const record = records.get(id) as Kept | undefined;
    return record && { record: shape.join(shape.split(record)), revision: revisions.of(id, record) };
  };
  const working = async <Result>(work: () => Result): Promise<Result> => {
    await turn();
    const failure = fails();
    if (failure) throw failure;
    return work();
  };
  return {
    all: () => working(() => [...records.keys()].flatMap((id) => stored(id) ?? [])),
    get: (id) => working(() => stored(id)),
    wasRemoved: (id) => working(() => revisions.has(id) && !records.has(id)),
    save: (id, seen, mine) =>
      working(() => {
        const now = stored(id);
        const unchanged = seen !== undefined && seen.revision === now?.revision;
        const record = now && !unchanged ? shape.merge(seen?.record, mine, now.record) : mine;
        records.set(id, record);
        const revision = revisions.of(id, record);
        return unchanged
          ? { record, revision, patch: patchOf(shape.split(seen.record), shape.split(record)) }
          : { record, revision };
      }),
    remove: (id, seen) =>
      working(() => {
        const now = stored(id);
        if (now && seen && now.revision !== seen.revision) return now;
        records.delete(id);
        return undefined;
      }),
  };
}

interface Revisions {
  of(id: string, record: object): string;
  has(id: string): boolean;
}
const known = new WeakMap<Map<string, unknown>, Revisions>();

/** A new revision whenever the stored object is another one. */
function revisionsOf(records: Map<string, unknown>): Revisions {
  const found = known.get(records);
  if (found) return found;
  const last = new Map<string, { record: object; revision: number }>();
  let count = 0;
  const revisions: Revisions = {
    has: (id) => last.has(id),
    of(id, record) {
      const before = last.get(id);
      if (before?.record === record) return String(before.revision);
      count += 1;
      last.set(id, { record, revision: count });
      return String(count);
    },
  };
  known.set(records, revisions);
  return revisions;
}
