/** A record of one of the collections that are kept on the server. */
export interface SyncedRecord {
  readonly id: string;
}

/** The records of one kind in this browser. */
export interface SyncedCollection {
  readonly kind: string;
  ids(): readonly string[];
  find(id: string): SyncedRecord | undefined;
  /** Merges a record of the server. `base` is the last state that both had, if it is known. */
  merge(record: SyncedRecord, base: SyncedRecord | undefined): void;
  remove(id: string): void;
}

export interface RecordHead {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly deleted: boolean;
}

/** The records of the server. */
export interface RecordServer {
  list(since: number): Promise<{ readonly revision: number; readonly records: readonly RecordHead[] }>;
  load(kind: string, id: string): Promise<{ readonly revision: number; readonly record: SyncedRecord } | undefined>;
  /** `saved` is false if the server has a newer record; without a record it is deleted. */
  save(
    kind: string,
    id: string,
    base: number,
    record: SyncedRecord | undefined,
  ): Promise<{ readonly saved: boolean; readonly revision: number }>;
}

/** What this browser knows of the server. Kept in the browser. */
export interface SyncState {
  /** Last revision that was listed. */
  readonly revision: number;
  /** Revision of each record that this browser has seen, by `kind.id`. */
  readonly known: Readonly<Record<string, number>>;
  /** Records that were changed or deleted here since they were saved on the server. */
  readonly changed: readonly string[];
}

export const unsynced: SyncState = { revision: 0, known: {}, changed: [] };

export interface SyncParts {
  readonly collections: readonly SyncedCollection[];
  readonly server: RecordServer;
  readonly state: { read(): SyncState; write(state: SyncState): void };
}

/**
 * Keeps the records of this browser and of the server the same. Each round fetches what is new there, merges it, and saves what was
 * changed here. A record that both have changed is merged; one that was deleted on one side and changed on the other is kept.
 */
export class ServerSync {
  readonly #parts: SyncParts;
  #round: Promise<void> | undefined;

  constructor(parts: SyncParts) {
    this.#parts = parts;
  }

  /** A record was changed or deleted in this browser. */
  changed(kind: string, id: string): void {
    this.#update((state) => ({ ...state, changed: [...new Set([...state.changed, keyOf(kind, id)])] }));
  }

  /** Rejects if the server cannot be reached; the next round goes on from there. */
  round(): Promise<void> {
    this.#round ??= this.#fetchAndSave().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #fetchAndSave(): Promise<void> {
    const { server } = this.#parts;
    const { revision: before, known } = this.#state;
    const listed = await server.list(before);
    // Revisions only grow: this is another server, or one that has lost its records.
    const restarted = Object.values(known).some((seen) => seen > listed.revision);
    if (restarted) this.#update((state) => ({ ...unsynced, changed: state.changed }));
    // Records from before the first round are new to the server.
    if (this.#state.revision === 0) this.#markAll();
    const { revision, records } = restarted ? await server.list(0) : listed;
    for (const head of records) await this.#take(head);
    this.#update((state) => ({ ...state, revision: Math.max(state.revision, revision) }));
    for (const key of this.#state.changed) await this.#save(key);
  }

  #markAll(): void {
    for (const { kind, ids } of this.#parts.collections)
      for (const id of ids()) if (this.#known(kind, id) === 0) this.changed(kind, id);
  }

  /** Takes over a change of the server. */
  async #take({ kind, id, revision, deleted }: RecordHead): Promise<void> {
    const collection = this.#collection(kind);
    if (!collection || this.#known(kind, id) >= revision) return;
    const changedHere = this.#state.changed.includes(keyOf(kind, id));
    if (deleted) {
      if (!changedHere) collection.remove(id);
      this.#know(kind, id, revision);
      return;
    }
    // What was deleted here and changed there is kept.
    const found = await this.#parts.server.load(kind, id);
    if (!found) return;
    collection.merge(found.record, changedHere ? undefined : collection.find(id));
    this.#know(kind, id, found.revision);
  }

  async #save(key: string): Promise<void> {
    const [kind = '', id = ''] = key.split('.');
    const collection = this.#collection(kind);
    // A few conflicts in a row are possible while another browser writes.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const record = collection?.find(id);
      const base = this.#known(kind, id);
      if (!collection || (!record && base === 0)) return this.#done(key);
      const { saved, revision } = await this.#parts.server.save(kind, id, base, record);
      if (saved) {
        this.#know(kind, id, revision);
        // Otherwise it was changed meanwhile.
        if (collection.find(id) === record) return this.#done(key);
      } else if (revision === 0) {
        // The server has lost the record, or is another one.
        this.#know(kind, id, 0);
      } else {
        const found = await this.#parts.server.load(kind, id);
        if (found) collection.merge(found.record, undefined);
        this.#know(kind, id, found?.revision ?? revision);
      }
    }
  }

  #done(key: string): void {
    this.#update((state) => ({ ...state, changed: state.changed.filter((other) => other !== key) }));
  }

  get #state(): SyncState {
    return this.#parts.state.read();
  }

  #update(change: (state: SyncState) => SyncState): void {
    this.#parts.state.write(change(this.#state));
  }

  #collection(kind: string): SyncedCollection | undefined {
    return this.#parts.collections.find((collection) => collection.kind === kind);
  }

  #known(kind: string, id: string): number {
    return this.#state.known[keyOf(kind, id)] ?? 0;
  }

  #know(kind: string, id: string, revision: number): void {
    this.#update((state) => ({ ...state, known: { ...state.known, [keyOf(kind, id)]: revision } }));
  }
}

function keyOf(kind: string, id: string): string {
  return `${kind}.${id}`;
}
