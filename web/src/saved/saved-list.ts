import type { CollectionName } from './database.ts';
import { Records } from './records.svelte.ts';

interface StoredList {
  readonly id: string;
  readonly changedAt: number;
  readonly [field: string]: unknown;
}

/** A list in an order, in one field of the one record of a collection. */
export class SavedList<Item> {
  readonly #records: Records<StoredList>;

  constructor(
    name: CollectionName,
    private readonly id: string,
    private readonly field: string,
  ) {
    this.#records = new Records<StoredList>(name);
  }

  get items(): readonly Item[] {
    return (this.#records.find(this.id)?.[this.field] ?? []) as readonly Item[];
  }

  get loaded(): boolean {
    return this.#records.loaded;
  }

  load(): Promise<void> {
    return this.#records.load();
  }

  readonly change = (make: (items: readonly Item[]) => readonly Item[]): void =>
    this.#records.put({ id: this.id, changedAt: Date.now(), [this.field]: make(this.items) });
}
