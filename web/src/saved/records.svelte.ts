import { notifyFailure, notifyUndo, reported } from '../ui/notices.svelte.ts';
import { type CollectionName, databaseBlocked } from './database.ts';
import { newId, tabId } from './id.ts';
import { isSame, type Patch, patched, plainShape, type Shape, withSharedParts } from './merge.ts';
import { type RecordStore, recordStore, type Stored } from './record-store.ts';
import { unsavedChanges } from './unsaved.ts';

/** Where a change was made: in this tab, in another one, or by `merge`. */
export type Origin = 'here' | 'tab' | 'merge';
type ChangeListener<Kept> = (id: string, record: Kept | undefined, origin: Origin) => void;

/** What a tab tells the others after a write. */
interface Written {
  readonly id: string;
  /** Missing if the record was removed. */
  readonly revision?: string;
  /** What was changed since `before`; otherwise the others read the record. */
  readonly before?: string;
  readonly patch?: Patch;
}

interface RecordsOptions<Kept> {
  readonly shape?: Shape<Kept>;
  readonly store?: RecordStore<Kept>;
  readonly tabs?: Pick<BroadcastChannel, 'postMessage' | 'onmessage'>;
  readonly tab?: string;
}

export interface PutOptions {
  /** Saves after a short delay, once for all changes until then: for text that arrives or is typed. */
  readonly later?: boolean;
}

const laterMs = 400;

const instances = new Set<{ flush(): Promise<void> }>();
let closed = false;

/** Saves the changes of all collections of this tab now. */
export async function flushRecords(): Promise<void> {
  await Promise.all([...instances].map((records) => records.flush()));
}

/** Nothing more is saved by this tab: its records are outdated, and it is loaded again. */
export function closeRecords(): void {
  closed = true;
}

let replaced: BroadcastChannel | undefined;

/** Loads this tab again when another one has replaced the data. */
function followReplacedData(): void {
  replaced ??= new BroadcastChannel('parley.replaced');
  replaced.onmessage = reload;
}

/** All stored data was replaced or deleted: what the tabs of this browser show is outdated. They are loaded again. */
export function reloadTabs(): void {
  replaced?.postMessage('');
  reload();
}

function reload(): void {
  closed = true;
  location.reload();
}

export function areRecordsClosed(): boolean {
  return closed;
}

/**
 * The records of a collection, in memory and in the database. A change is shown at once and saved by change: one transaction
 * reads what other tabs have written since, merges (`Shape.merge`) and writes, and the other tabs merge it into what they
 * show. So an older state never replaces a newer one.
 *
 * A removal wins over all that this tab has seen of the record, and over nothing else: if another tab has changed it
 * meanwhile, or changes it before it knows of the removal, the record stays, with all of its content.
 */
export class Records<Kept extends { readonly id: string }> {
  #all = $state.raw<readonly Kept[]>([]);
  #loaded = $state(false);
  #loading: Promise<void> | undefined;
  readonly #shape: Shape<Kept>;
  readonly #store: RecordStore<Kept>;
  readonly #tabs: Pick<BroadcastChannel, 'postMessage' | 'onmessage'>;
  readonly #unsaved;
  /** What this tab knows to be stored: the base of merges. */
  readonly #seen = new Map<string, Stored<Kept>>();
  /** Changed since the last write was begun. */
  readonly #changed = new Set<string>();
  /** Being written. */
  readonly #writing = new Set<string>();
  /** Work on one record is done in order. */
  readonly #work = new Map<string, Promise<void>>();
  /** Read one by one, in a collection that is not loaded. */
  readonly #fetched = new Set<string>();
  readonly #listeners = new Set<ChangeListener<Kept>>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(name: CollectionName, options: RecordsOptions<Kept> = {}) {
    this.#shape = options.shape ?? plainShape();
    this.#store = options.store ?? recordStore(name, this.#shape);
    this.#unsaved = unsavedChanges<Kept>(name, options.tab ?? tabId, this.#shape);
    this.#tabs = options.tabs ?? new BroadcastChannel(`parley.${name}`);
    this.#tabs.onmessage = ({ data }: MessageEvent<Written>) => this.#hear(data);
    if (instances.size === 0) followReplacedData();
    instances.add(this);
    addEventListener('pagehide', () => this.#leave());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'hidden') this.#leave();
    });
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
    this.#loading ??= Promise.race([this.#loadAll(), databaseBlocked]).then(() => {
      this.#loaded = true;
    });
    return this.#loading;
  }

  /** Reads one record, if the collection is not loaded. */
  async fetch(id: string): Promise<Kept | undefined> {
    if (!this.#fetched.has(id) && !this.#loading) {
      this.#fetched.add(id);
      await this.#inOrder(id, async () => this.#take(id, await this.#store.get(id), 'tab'));
    } else await this.#work.get(id);
    return this.find(id);
  }

  /** Reads what other tabs have written, even if this tab has not been told yet. */
  async refresh(id: string): Promise<Kept | undefined> {
    await this.#inOrder(id, async () => this.#take(id, await this.#store.get(id), 'tab'));
    return this.find(id);
  }

  put(record: Kept, options: PutOptions = {}): void {
    this.#put(record, 'here', options);
  }

  change(id: string, make: (record: Kept) => Kept, options: PutOptions = {}): void {
    const record = this.find(id);
    const next = record && make(record);
    if (next && next !== record) this.put(next, options);
  }

  remove(id: string): Promise<void> {
    this.#hide(id);
    this.#changed.delete(id);
    this.#tell(id, undefined, 'here');
    return this.#inOrder(id, async () => {
      // Put again meanwhile.
      if (this.#changed.has(id)) return;
      const newer = await this.#store.remove(id, this.#seen.get(id));
      if (newer) {
        this.#take(id, newer, 'tab');
        return;
      }
      this.#seen.delete(id);
      if (!this.#changed.has(id)) this.#hide(id);
      this.#post({ id });
    });
  }

  /** Removes records, and offers to put them back. */
  removeWithUndo(removed: readonly Kept[], sentence: string): void {
    for (const { id } of removed) void this.remove(id);
    notifyUndo(sentence, () => {
      for (const record of removed) this.put(record);
    });
  }

  /**
   * Merges a state of the record that comes from elsewhere. Without a base, the last state that both sides had, what either
   * one has is kept.
   */
  async merge(record: Kept, base?: Kept): Promise<void> {
    await this.load();
    const mine = this.find(record.id);
    const next = mine ? withSharedParts(mine, this.#mergedByTime(mine, record, base)) : record;
    if (next !== mine) this.#put(next, 'merge', {});
  }

  /** The revision of a record, which changes with each stored change of any tab; a new one while there are unsaved changes. */
  revisionOf(id: string): string {
    const isUnsaved = this.#changed.has(id) || this.#writing.has(id);
    return isUnsaved ? newId() : (this.#seen.get(id)?.revision ?? '');
  }

  /** Whether there was such a record, and it was removed. */
  async wasRemoved(id: string): Promise<boolean> {
    await this.#work.get(id);
    return !this.find(id) && (await this.#store.wasRemoved(id));
  }

  /** Calls the listener after each change, wherever it was made. */
  onChange(listener: ChangeListener<Kept>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Saves all changes, or those of one record, now. */
  async flush(id?: string): Promise<void> {
    if (id === undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    for (const changed of [...this.#changed]) if (id === undefined || changed === id) this.#save(changed);
    const work = id === undefined ? [...this.#work.values()] : [this.#work.get(id)];
    await Promise.all(work);
  }

  async #loadAll(): Promise<void> {
    await reported(async () => {
      const stored = await this.#store.all();
      const found = stored.filter(({ record }) => !this.#seen.has(record.id));
      const shown = new Set(this.#all.map(({ id }) => id));
      for (const one of found) if (!shown.has(one.record.id)) this.#seen.set(one.record.id, one);
      this.#all = [...this.#all, ...found.map(({ record }) => record).filter(({ id }) => !shown.has(id))];
      for (const change of this.#unsaved.take()) {
        const record = this.find(change.id);
        const next = this.#unsaved.apply(record, change);
        if (!record || !isSame(record, next)) this.put(next);
      }
    });
  }

  #put(record: Kept, origin: Origin, { later = false }: PutOptions): void {
    this.#show(record);
    this.#changed.add(record.id);
    this.#tell(record.id, record, origin);
    if (!later) this.#save(record.id);
    else this.#timer ??= setTimeout(() => void this.flush(), laterMs);
  }

  #save(id: string): void {
    void this.#inOrder(id, async () => {
      const mine = this.find(id);
      if (closed || !mine || !this.#changed.delete(id)) return;
      this.#writing.add(id);
      const seen = this.#seen.get(id);
      try {
        const saved = await this.#store.save(id, seen, mine);
        this.#seen.set(id, saved);
        this.#showSaved(id, mine, saved.record);
        const { revision, patch } = saved;
        this.#post({ id, revision, ...(seen && patch ? { before: seen.revision, patch } : {}) });
      } catch (thrown) {
        // Saved with the next change.
        if (this.find(id)) this.#changed.add(id);
        throw thrown;
      } finally {
        this.#writing.delete(id);
        if (this.#changed.size + this.#writing.size === 0) this.#unsaved.clear();
      }
    });
  }

  /** The stored record contains changes of other tabs; the shown one may have newer changes of this tab. */
  #showSaved(id: string, mine: Kept, saved: Kept): void {
    const now = this.find(id);
    if (!now || saved === mine) return;
    const next = now === mine ? withSharedParts(mine, saved) : this.#shape.merge(mine, now, saved);
    if (now === mine) this.#seen.set(id, { ...(this.#seen.get(id) as Stored<Kept>), record: next });
    this.#show(next);
    this.#tell(id, next, 'tab');
  }

  #hear(written: Written): void {
    const { id, revision, before, patch } = written;
    // A collection that is not loaded is read when it is needed.
    if (!this.#loading && !this.#fetched.has(id)) return;
    void this.#inOrder(id, async () => {
      const seen = this.#seen.get(id);
      if (seen && seen.revision === revision) return;
      if (seen && revision !== undefined && patch && before === seen.revision) {
        const record = this.#shape.join(patched(this.#shape.split(seen.record), patch));
        this.#take(id, { record, revision }, 'tab');
      } else this.#take(id, await this.#store.get(id), 'tab');
    });
  }

  /** Takes over what is stored now. */
  #take(id: string, stored: Stored<Kept> | undefined, origin: Origin): void {
    const seen = this.#seen.get(id);
    const shown = this.find(id);
    if (!stored) {
      this.#seen.delete(id);
      // Changes that are not saved yet bring the record back.
      if (!shown || this.#changed.has(id)) return;
      this.#hide(id);
      this.#tell(id, undefined, origin);
      return;
    }
    if (seen?.revision === stored.revision && shown) return;
    const record = withSharedParts(seen?.record, stored.record);
    this.#seen.set(id, { record, revision: stored.revision });
    const next = shown && this.#changed.has(id) ? this.#shape.merge(seen?.record, shown, record) : record;
    if (next === shown) return;
    this.#show(next);
    this.#tell(id, next, origin);
  }

  /** The newer one wins where both have changed the same. */
  #mergedByTime(mine: Kept, other: Kept, base: Kept | undefined): Kept {
    const isNewer = timeOf(other) > timeOf(mine);
    return isNewer ? this.#shape.merge(base, other, mine) : this.#shape.merge(base, mine, other);
  }

  /** Failures are reported, and do not keep later work from being done. */
  #inOrder(id: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#work.get(id) ?? Promise.resolve()).then(work).catch(notifyFailure);
    this.#work.set(id, done);
    void done.then(() => {
      if (this.#work.get(id) === done) this.#work.delete(id);
    });
    return done;
  }

  #leave(): void {
    if (closed) return;
    const ids = new Set([...this.#changed, ...this.#writing]);
    const changes = [...ids].flatMap((id) => {
      const now = this.find(id);
      return now ? [[this.#seen.get(id)?.record, now] as const] : [];
    });
    if (changes.length > 0) this.#unsaved.write(changes);
    void this.flush();
  }

  #post(written: Written): void {
    this.#tabs.postMessage(written);
  }

  #tell(id: string, record: Kept | undefined, origin: Origin): void {
    for (const listener of this.#listeners) listener(id, record, origin);
  }

  #show(record: Kept): void {
    const at = this.#all.findIndex(({ id }) => id === record.id);
    this.#all = at === -1 ? [...this.#all, record] : this.#all.with(at, record);
  }

  #hide(id: string): void {
    if (this.find(id)) this.#all = this.#all.filter((record) => record.id !== id);
  }
}

/** When the record was changed, under either of its names. */
function timeOf(record: object): number {
  const { changedAt, changed } = record as { changedAt?: number; changed?: number };
  return changedAt ?? changed ?? 0;
}
