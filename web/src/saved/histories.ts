import {
  changesOf,
  emptyHistory,
  extend,
  type History,
  historyShape,
  redo,
  remember,
  type Undoable,
  undo,
} from './history.ts';
import { newId } from './id.ts';
import { Records } from './records.svelte.ts';

const records = new Records<History>('histories', { shape: historyShape });

interface HistoriesParts<Kept> {
  /** Begins the ids of its histories. */
  readonly kind: string;
  readonly parts: (record: Kept) => Undoable;
  readonly withParts: (record: Kept, parts: Undoable) => Kept;
}

/** The undo histories of the records of a collection. They are saved shortly after each change, and shared by all tabs. */
export function histories<Kept extends { readonly id: string }>({ kind, parts, withParts }: HistoriesParts<Kept>) {
  const nameOf = (id: string): string => `${kind}.${id}`;
  const of = (id: string): History => {
    void records.fetch(nameOf(id));
    return records.find(nameOf(id)) ?? emptyHistory(nameOf(id));
  };
  const step = (record: Kept, go: typeof undo): Kept | undefined => {
    const gone = go(of(record.id), parts(record));
    if (!gone) return undefined;
    records.put(gone[0], { later: true });
    return withParts(record, gone[1]);
  };
  return {
    of,
    /** A change of the record. Without `undoable` it belongs to the last step. */
    changed(before: Kept, after: Kept, undoable: boolean): void {
      const known = of(after.id);
      if (!undoable && known.past.length === 0) return;
      const changes = changesOf(parts(before), parts(after));
      const next = undoable ? remember(known, newId(), changes) : extend(known, changes);
      if (next !== known) records.put(next, { later: true });
    },
    /** The record after undo or redo; undefined if there is nothing to do. */
    undo: (record: Kept): Kept | undefined => step(record, undo),
    redo: (record: Kept): Kept | undefined => step(record, redo),
    remove: (id: string): void => void records.remove(nameOf(id)),
    flush: (): Promise<void> => records.flush(),
  };
}
