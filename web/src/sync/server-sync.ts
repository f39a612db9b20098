import { isSame } from '../saved/merge.ts';

/** A record of one of the collections that are kept on the server. */
export interface SyncedRecord {
  readonly id: string;
}

/** A record as this browser has stored it. The revision changes with each change, in whatever tab it is made. */
interface LocalRecord {
  readonly record: SyncedRecord;
  readonly revision: string;
}

/** The records of one kind in this browser. */
export interface SyncedCollection {
  readonly kind: string;
  all(): readonly LocalRecord[];
  /** The record when its changes are stored. */
  find(id: string): Promise<LocalRecord | undefined>;
  /** Whether the record was deleted, rather than lost or never known. */
  wasRemoved(id: string): Promise<boolean>;
  /** Whether the record waits for something that only this browser can finish; it is saved then. */
  isBusy(record: SyncedRecord): boolean;
  /** Merges a record of the server. `base` is the last state that both had, if it is known. */
  merge(record: SyncedRecord, base: SyncedRecord | undefined): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface RecordHead {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly deleted: boolean;
}

/** The server cannot keep or read this record, now or later. */
export class RecordRefused extends Error {}

/** Another person is signed in than the one who chose to keep the records on the server. */
export class OtherLibrary extends Error {}

/** The records of the server. Loading and saving throws `RecordRefused`. */
export interface RecordServer {
  /** `library`: whose the records are, with a key that has its own. */
  list(
    since: number,
  ): Promise<{ readonly revision: number; readonly records: readonly RecordHead[]; readonly library?: string }>;
  load(kind: string, id: string): Promise<{ readonly revision: number; readonly record: SyncedRecord } | undefined>;
  /** `saved` is false if the server has a newer record; without a record it is deleted. */
  save(
    kind: string,
    id: string,
    base: number,
    record: SyncedRecord | undefined,
  ): Promise<{ readonly saved: boolean; readonly revision: number }>;
}

/** The revision on the server that this browser has seen, and its own one if both have the same content. */
interface KnownRecord {
  readonly server: number;
  readonly local?: string;
}

/** What this browser knows of the server. Kept in the browser. */
export interface SyncState {
  /** Whose the records are there; missing for the common ones. */
  readonly library?: string;
  /** Switched on by hand since the last round: it may be another library than before. */
  readonly chosen?: boolean;
  /** Last revision that was listed. */
  readonly revision: number;
  /** By `kind.id`. */
  readonly known: Readonly<Record<string, KnownRecord>>;
  /** Own revisions that the server has refused, by `kind.id`: not sent again until the record is changed. */
  readonly refused: Readonly<Record<string, { readonly local: string; readonly reason: string }>>;
}

export const unsynced: SyncState = { revision: 0, known: {}, refused: {} };

export interface SyncDeps {
  readonly collections: readonly SyncedCollection[];
  readonly server: RecordServer;
  readonly state: { read(): SyncState; write(state: SyncState): void };
}

/**
 * Keeps the records of this browser and of the server the same. Each round fetches what is new there, merges it, and saves what was
 * changed here: what has another revision than at the last time. A record that both have changed is merged; one that was deleted on
 * one side and changed on the other is kept.
 */
export class ServerSync {
  readonly #deps: SyncDeps;
  #round: Promise<void> | undefined;
  /** The last states that both had. Not kept: after a reload, records that were changed before it are merged without. */
  readonly #bases = new Map<string, SyncedRecord>();

  constructor(deps: SyncDeps) {
    this.#deps = deps;
  }

  /** Rejects if the server cannot be reached; the next round goes on from there. Throws `OtherLibrary`. */
  round(): Promise<void> {
    this.#round ??= this.#fetchAndSave().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #fetchAndSave(): Promise<void> {
    const { server, collections } = this.#deps;
    const { revision: before, known, library, chosen } = this.#state;
    this.#keepBases();
    const listed = await server.list(before);
    const isOther = listed.library !== library;
    if (isOther && !chosen) throw new OtherLibrary();
    // Revisions only grow: otherwise this is another server, or one that has lost its records.
    const restarted =
      isOther || before > listed.revision || Object.values(known).some((one) => one.server > listed.revision);
    if (restarted) {
      this.#deps.state.write({ ...unsynced, ...(listed.library !== undefined && { library: listed.library }) });
      this.#bases.clear();
    } else if (chosen) this.#update(({ chosen: _, ...state }) => state);
    const { revision, records } = restarted ? await server.list(0) : listed;
    for (const head of records) await this.#take(head);
    this.#update((state) => ({ ...state, revision: Math.max(state.revision, revision) }));
    for (const collection of collections) await this.#saveChanged(collection);
  }

  /** What is unchanged now is the base of changes that are made until the next round. */
  #keepBases(): void {
    const { known } = this.#state;
    for (const { kind, all } of this.#deps.collections)
      for (const { record, revision } of all())
        if (known[keyOf(kind, record.id)]?.local === revision) this.#bases.set(keyOf(kind, record.id), record);
  }

  /** Takes over a change of the server. */
  async #take({ kind, id, revision, deleted }: RecordHead): Promise<void> {
    const collection = this.#deps.collections.find((one) => one.kind === kind);
    const key = keyOf(kind, id);
    const known = this.#state.known[key];
    if (!collection || (known?.server ?? 0) >= revision) return;
    if (deleted) {
      const own = await collection.find(id);
      // What was changed here stays, and is saved again.
      if (own && own.revision === known?.local) await collection.remove(id);
      this.#know(key, { server: revision });
      return;
    }
    try {
      const remote = await this.#deps.server.load(kind, id);
      if (remote) await this.#accept(collection, remote);
    } catch (thrown) {
      if (!(thrown instanceof RecordRefused)) throw thrown;
      this.#refuse(key, '', thrown.message);
    }
  }

  async #accept(
    collection: SyncedCollection,
    { record, revision }: { readonly record: SyncedRecord; readonly revision: number },
  ): Promise<void> {
    const key = keyOf(collection.kind, record.id);
    const own = await collection.find(record.id);
    const isUnchanged = own?.revision === this.#state.known[key]?.local;
    await collection.merge(record, own && isUnchanged ? own.record : own && this.#bases.get(key));
    const now = await collection.find(record.id);
    this.#bases.set(key, record);
    this.#know(
      key,
      now && isSame(now.record, record) ? { server: revision, local: now.revision } : { server: revision },
    );
  }

  async #saveChanged(collection: SyncedCollection): Promise<void> {
    const { known, refused } = this.#state;
    const here = new Set<string>();
    for (const { record, revision } of collection.all()) {
      const key = keyOf(collection.kind, record.id);
      here.add(key);
      if (known[key]?.local === revision || refused[key]?.local === revision || collection.isBusy(record)) continue;
      await this.#save(collection, record.id);
    }
    const prefix = keyOf(collection.kind, '');
    for (const [key, { local }] of Object.entries(known)) {
      if (!key.startsWith(prefix) || local === undefined || here.has(key)) continue;
      const id = key.slice(prefix.length);
      if (await collection.wasRemoved(id)) await this.#save(collection, id);
    }
  }

  async #save(collection: SyncedCollection, id: string): Promise<void> {
    const { kind } = collection;
    const key = keyOf(kind, id);
    // A few conflicts in a row are possible while another browser writes.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const own = await collection.find(id);
      const known = this.#state.known[key];
      if (own ? known?.local === own.revision : known?.local === undefined) return;
      try {
        const { saved, revision } = await this.#deps.server.save(kind, id, known?.server ?? 0, own?.record);
        if (saved) {
          if (own) this.#bases.set(key, own.record);
          this.#know(key, own ? { server: revision, local: own.revision } : { server: revision });
          return;
        }
        const remote = revision === 0 ? undefined : await this.#deps.server.load(kind, id);
        if (remote) await this.#accept(collection, remote);
        // Deleted there and changed here, or lost by the server: it is saved again.
        else this.#know(key, { server: revision });
      } catch (thrown) {
        if (!(thrown instanceof RecordRefused)) throw thrown;
        this.#refuse(key, own?.revision ?? '', thrown.message);
        return;
      }
    }
  }

  get #state(): SyncState {
    return this.#deps.state.read();
  }

  #update(change: (state: SyncState) => SyncState): void {
    this.#deps.state.write(change(this.#state));
  }

  #know(key: string, known: KnownRecord): void {
    this.#update((state) => {
      const { [key]: _, ...refused } = state.refused;
      return { ...state, known: { ...state.known, [key]: known }, refused };
    });
  }

  #refuse(key: string, local: string, reason: string): void {
    this.#update((state) => ({ ...state, refused: { ...state.refused, [key]: { local, reason } } }));
  }
}

function keyOf(kind: string, id: string): string {
  return `${kind}.${id}`;
}
