import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Batch, type BatchLibrary, batchHasEnded, type NewBatch } from '../core/batches.ts';
import { AppError } from '../core/errors.ts';
import { type LibrariesOf, type Owner, senderOf } from '../core/owner.ts';
import { fileNameOf } from '../core/person-data.ts';
import type { FileLibrary } from '../core/stored-files.ts';
import type { Clock, StartTimer } from '../core/timers.ts';
import { makeOwnerFolder, ownerIn } from '../store/stored-files.ts';
import { resultsOf } from './output-files.ts';
import { BatchRun, type BatchWork, HeldElsewhere } from './runner.ts';
import { BatchStore, noUsage, type StoredBatch } from './store.ts';

interface BatchesOptions extends Pick<Clock, 'now'> {
  /** Has a folder for each owner. */
  readonly folder: string;
  readonly files: LibrariesOf<FileLibrary>;
  readonly warn: (sentence: string) => void;
  readonly startTimer: StartTimer;
}

const lifetimeSeconds = 24 * 60 * 60;
/** Results of the Messages API are deleted after this time. */
const archiveSeconds = 29 * lifetimeSeconds;
/** Batches are deleted this long after their end; their output files are not. */
const memorySeconds = 90 * lifetimeSeconds;
/** Batches that run at the same time. */
const maxRunning = 8;
/** How often to look for batches that another server has left, and to try again after a failure. */
const scanMs = 60_000;

/** The batches of all owners, and the runs of those that have not ended. */
export class Batches {
  readonly #stores = new Map<Owner, BatchStore>();
  readonly #runs = new Map<string, { readonly run: BatchRun; readonly over: Promise<void> }>();
  #work: BatchWork | undefined;
  #scanning: Promise<void> | undefined;
  #scansAgain = false;
  #trouble = '';

  constructor(private readonly options: BatchesOptions) {}

  /** From now on batches run, those of earlier starts first. */
  start(work: BatchWork): void {
    this.#work = work;
    const timer = this.options.startTimer(scanMs, () => {
      this.#scan();
      timer.restart();
    });
    this.#scan();
  }

  of(owner: Owner): BatchLibrary {
    const store = this.#storeOf(owner);
    return {
      list: async (api) =>
        (await store.list()).filter((batch) => batch.api === api).map((one) => this.#withLiveCounts(one)),
      get: async (id) => this.#withLiveCounts(await store.get(id)),
      create: (batch) => this.#create(owner, batch),
      cancel: (id) => this.#cancel(store, id),
      results: async (id) => {
        const batch = await store.get(id);
        if (!batchHasEnded(batch)) throw wrong(`that of a batch that has ended; this one is ${batch.status}`);
        return resultsOf(store, id, batch.cancelledAt === undefined ? 'expired' : 'cancelled');
      },
      delete: async (id) => {
        if (!batchHasEnded(await store.get(id))) throw wrong('that of a batch that has ended; cancel it first');
        await store.delete(id);
      },
    };
  }

  /** Of requests and results of one owner. */
  bytes(owner: Owner): Promise<number> {
    return this.#storeOf(owner).bytes();
  }

  /** Cancels the batches of an owner, and resolves when none of them runs. */
  async stop(owner: Owner): Promise<void> {
    const store = this.#storeOf(owner);
    for (const batch of await store.list()) {
      // It may end meanwhile.
      if (!batchHasEnded(batch)) await this.#cancel(store, batch.id).catch(() => undefined);
    }
    while (this.#scanning) await this.#scanning;
    for (const { id } of await store.list()) await this.#runs.get(id)?.over;
  }

  async #create(owner: Owner, { input, ...own }: NewBatch): Promise<Batch> {
    const store = this.#storeOf(owner);
    const { now } = this.options;
    const createdAt = Math.floor(now() / 1000);
    const requests = 'requests' in input ? input.requests : undefined;
    const model = requests?.[0]?.body.model;
    const batch: StoredBatch = {
      ...own,
      id: store.newId(own.api),
      ...('file' in input
        ? { status: 'validating', inputFile: input.file }
        : { status: 'in_progress', startedAt: createdAt }),
      ...(typeof model === 'string' && { model }),
      createdAt,
      expiresAt: createdAt + lifetimeSeconds,
      counts: { total: requests?.length ?? 0, succeeded: 0, failed: 0 },
      usage: noUsage,
    };
    await makeOwnerFolder(this.#folderOf(owner), owner);
    await store.makeFolder(batch.id);
    // The state comes last: a batch without one is none.
    if (requests)
      await store.writeRequests(batch.id, async (add) => {
        for (const request of requests) await add(request);
      });
    const created = await store.create(batch);
    this.#scan();
    return created;
  }

  async #cancel(store: BatchStore, id: string): Promise<Batch> {
    const { now } = this.options;
    const batch = await store.get(id);
    if (batchHasEnded(batch) || batch.status === 'finalizing')
      throw wrong(`that of a batch that can be cancelled; this one is ${batch.status}`);
    const cancelled = await store.change(id, (present) =>
      batchHasEnded(present) || present.status === 'finalizing' || present.cancelledAt !== undefined
        ? present
        : { ...present, status: 'cancelling', cancelledAt: Math.floor(now() / 1000) },
    );
    await this.#runs.get(id)?.run.look();
    this.#scan();
    return this.#withLiveCounts(cancelled);
  }

  #withLiveCounts(batch: StoredBatch): Batch {
    const live = batchHasEnded(batch) ? undefined : this.#runs.get(batch.id)?.run.live;
    return { ...batch, ...live };
  }

  /** Starts what has not ended, the oldest first, and deletes what is old. */
  #scan(): void {
    const work = this.#work;
    if (!work || work.isStopping()) return;
    if (this.#scanning) {
      this.#scansAgain = true;
      return;
    }
    this.#scanning = this.#scanOwners(work)
      .then(
        () => '',
        (error: Error) => `Batches cannot be read: ${error.message}.`,
      )
      .then((trouble) => {
        this.#report(trouble);
        this.#scanning = undefined;
        if (this.#scansAgain) this.#scan();
        this.#scansAgain = false;
      });
  }

  async #scanOwners(work: BatchWork): Promise<void> {
    const { folder } = this.options;
    for (const name of await readdir(folder).catch(() => [])) {
      const owner = await ownerIn(join(folder, name));
      if (owner === undefined) continue;
      const store = this.#storeOf(owner);
      for (const batch of (await store.list()).toReversed()) {
        if (batchHasEnded(batch)) await this.#tidy(store, batch);
        else if (!this.#runs.has(batch.id) && this.#runs.size < maxRunning) this.#run(owner, store, batch.id, work);
      }
    }
  }

  #run(owner: Owner, store: BatchStore, id: string, work: BatchWork): void {
    const { now, startTimer, files } = this.options;
    const run = new BatchRun(id, { store, files: files.of(senderOf(owner)), work, now, startTimer });
    const over = run.run().then(
      () => {
        this.#runs.delete(id);
        this.#report('');
        this.#scan();
      },
      (error: Error) => {
        this.#runs.delete(id);
        // It is tried again with the next look for batches.
        if (!(error instanceof HeldElsewhere)) this.#report(`The batch ${id} is interrupted: ${error.message}.`);
      },
    );
    this.#runs.set(id, { run, over });
  }

  async #tidy(store: BatchStore, batch: StoredBatch): Promise<void> {
    const { id, api, createdAt, archivedAt, endedAt = createdAt } = batch;
    const seconds = Math.floor(this.options.now() / 1000);
    if (seconds - endedAt >= memorySeconds) await store.delete(id);
    else if (api === 'messages' && archivedAt === undefined && seconds - createdAt >= archiveSeconds) {
      await store.deleteContent(id);
      await store.change(id, (present) => ({ ...present, archivedAt: seconds }));
    }
  }

  /** The same trouble once. */
  #report(trouble: string): void {
    if (trouble !== '' && trouble !== this.#trouble) this.options.warn(trouble);
    this.#trouble = trouble;
  }

  #storeOf(owner: Owner): BatchStore {
    const { now, warn } = this.options;
    const known =
      this.#stores.get(owner) ?? new BatchStore({ folder: join(this.#folderOf(owner), 'batches'), now, warn });
    this.#stores.set(owner, known);
    return known;
  }

  #folderOf(owner: Owner): string {
    return join(this.options.folder, fileNameOf(owner));
  }
}

const wrong = (expected: string): AppError => new AppError('invalid-field', { field: 'batch_id', expected });
