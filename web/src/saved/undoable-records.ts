import type { CollectionName } from './database.ts';
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
import type { Shape } from './merge.ts';
import { type PutOptions, Records } from './records.svelte.ts';

const histories = new Records<History>('histories', { shape: historyShape });

interface UndoableOptions<Kept> {
  readonly shape: Shape<Kept>;
  /** Begins the ids of the histories. */
  readonly kind: string;
  /** What undo restores. */
  readonly parts: (record: Kept) => Undoable;
  readonly withParts: (record: Kept, parts: Undoable) => Kept;
  /** Applied to each record that was changed. */
  readonly touched?: (record: Kept) => Kept;
}

/** Records with undo. Their histories are saved shortly after each change, and shared by all tabs. */
export class UndoableRecords<Kept extends { readonly id: string }> extends Records<Kept> {
  readonly #options: UndoableOptions<Kept>;

  constructor(name: CollectionName, options: UndoableOptions<Kept>) {
    super(name, { shape: options.shape });
    this.#options = options;
  }

  historyOf(id: string): History {
    const name = `${this.#options.kind}.${id}`;
    void histories.fetch(name);
    return histories.find(name) ?? emptyHistory(name);
  }

  /** `undoable` adds an undo step; any other change belongs to the last step. */
  override change(
    id: string,
    make: (record: Kept) => Kept,
    { undoable = false, ...options }: PutOptions & { readonly undoable?: boolean } = {},
  ): void {
    const before = this.find(id);
    const after = before && make(before);
    if (!after || after === before) return;
    const { parts, touched = (record) => record } = this.#options;
    const history = this.historyOf(id);
    if (undoable || history.past.length > 0) {
      const changes = changesOf(parts(before), parts(after));
      const next = undoable ? remember(history, newId(), changes) : extend(history, changes);
      if (next !== history) histories.put(next, { later: true });
    }
    this.put(touched(after), options);
  }

  undo(id: string): void {
    this.#travel(id, undo);
  }

  redo(id: string): void {
    this.#travel(id, redo);
  }

  #travel(id: string, step: typeof undo): void {
    const { parts, withParts, touched = (record) => record } = this.#options;
    const record = this.find(id);
    const result = record && step(this.historyOf(id), parts(record));
    if (!result) return;
    const [history, restored] = result;
    histories.put(history, { later: true });
    this.put(touched(withParts(record, restored)));
  }
}
