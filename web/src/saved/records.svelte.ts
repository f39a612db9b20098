import { notifyFailure } from '../app/notices.svelte.ts';
import { type CollectionName, collection } from './database.ts';

/** The records of a collection, in memory and in the database. Changes are shown and saved at once, in all tabs. */
export class Records<Kept extends { readonly id: string }> {
  #all = $state.raw<readonly Kept[]>([]);
  #loaded = $state(false);
  #loading: Promise<void> | undefined;
  readonly #stored;
  readonly #tabs: BroadcastChannel;

  constructor(name: CollectionName) {
    this.#stored = collection<Kept>(name);
    this.#tabs = new BroadcastChannel(`parley.${name}`);
    this.#tabs.onmessage = ({ data }: MessageEvent<string>) => {
      this.#stored.get(data).then((record) => (record ? this.#show(record) : this.#hide(data)), notifyFailure);
    };
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  get all(): readonly Kept[] {
    return this.#all;
  }

  find(id: string | undefined): Kept | undefined {
    return id === undefined ? undefined : this.#all.find((record) => record.id === id);
  }

  /** Reads the collection once. */
  load(): Promise<void> {
    this.#loading ??= this.#stored
      .all()
      .then((stored) => {
        const known = new Set(this.#all.map(({ id }) => id));
        this.#all = [...this.#all, ...stored.filter(({ id }) => !known.has(id))];
      }, notifyFailure)
      .then(() => {
        this.#loaded = true;
      });
    return this.#loading;
  }

  put(record: Kept): void {
    this.#show(record);
    this.#stored.put(record).then(() => this.#tabs.postMessage(record.id), notifyFailure);
  }

  change(id: string, make: (record: Kept) => Kept): void {
    const record = this.find(id);
    if (record) this.put(make(record));
  }

  remove(id: string): void {
    this.#hide(id);
    this.#stored.remove(id).then(() => this.#tabs.postMessage(id), notifyFailure);
  }

  #show(record: Kept): void {
    const at = this.#all.findIndex(({ id }) => id === record.id);
    this.#all = at === -1 ? [...this.#all, record] : this.#all.with(at, record);
  }

  #hide(id: string): void {
    this.#all = this.#all.filter((record) => record.id !== id);
  }
}
