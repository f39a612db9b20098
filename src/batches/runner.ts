import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Aborted } from '../core/abort.ts';
import { type BatchProblem, type BatchRequest, type BatchResult, batchHasEnded } from '../core/batches.ts';
import { withFileLock } from '../core/file-lock.ts';
import type { FileLibrary } from '../core/stored-files.ts';
import { type Clock, pauseUnlessAborted, type StartTimer } from '../core/timers.ts';
import { readInput } from './input.ts';
import { fileLines, resultsOf } from './output-files.ts';
import { type BatchStore, counted, noUsage, type StoredBatch } from './store.ts';

/** A reply, and whether it may be different later. */
export interface SentReply {
  readonly status: number;
  readonly requestId: string;
  readonly body: unknown;
  /** The server could not answer: milliseconds until the next try. */
  readonly retryMs?: number;
}

/** How requests of batches are answered. */
export interface BatchWork {
  /** In the queue, behind all other work. `giveWay` is called when other work arrives: the reply is then discarded. */
  send(
    batch: StoredBatch,
    request: BatchRequest,
    turn: { signal: AbortSignal; giveWay: () => void },
  ): Promise<SentReply>;
  /** Milliseconds to wait before the request may be sent: a limit of the key is used up, or a person would lose the loaded model. */
  delay(batch: StoredBatch, request: BatchRequest): Promise<number>;
  /** Why no request of this endpoint can have this model; undefined if one can. */
  modelProblem(endpoint: string, model: string | undefined): Promise<string | undefined>;
  readonly maxLineBytes: number;
  /** How many requests of a batch are in the queue at once. */
  readonly concurrency: number;
  /** The server takes no more requests. */
  readonly isStopping: () => boolean;
}

interface RunnerOptions extends Pick<Clock, 'now'> {
  readonly store: BatchStore;
  readonly files: FileLibrary;
  readonly work: BatchWork;
  readonly startTimer: StartTimer;
}

/** Another server runs it. */
export class HeldElsewhere extends Error {}

const maxRequests = 50_000;
/** Tries of a request that the server could not answer. */
const maxTries = 10;
/** How often a running batch stores its counts and checks whether another server has cancelled it. */
const lookMs = 2000;
/** Timers cannot wait for longer. */
const maxTimerMs = 2 ** 31 - 1;

/** One run of a batch: validates its input, sends what has no reply yet, and writes its files. Begun again after a crash, it goes on. */
export class BatchRun {
  readonly #stop = new AbortController();
  /** Counts that are not stored yet. */
  live: Pick<StoredBatch, 'counts' | 'usage'> | undefined;

  constructor(
    private readonly id: string,
    private readonly options: RunnerOptions,
  ) {}

  /** Its state was changed: it may be cancelled. */
  async look(): Promise<void> {
    const batch = await this.options.store.find(this.id);
    if (!batch || batch.status === 'cancelling') this.#stop.abort(new Aborted('cancelled'));
  }

  /** Rejects with `HeldElsewhere`, or for a failure of the disk, after which it can be run again. */
  run(): Promise<void> {
    const { store } = this.options;
    const refuse = () => new HeldElsewhere();
    return withFileLock(join(store.folderOf(this.id), 'run'), () => this.#run(), { refuse });
  }

  async #run(): Promise<void> {
    const { store, work } = this.options;
    let batch = await store.find(this.id);
    if (!batch || batchHasEnded(batch)) return;
    if (batch.status === 'validating') batch = await this.#validate(batch);
    if (batch.status === 'in_progress' || batch.status === 'cancelling') batch = await this.#answer(batch);
    if (batchHasEnded(batch) || (work.isStopping() && batch.status !== 'finalizing')) return;
    await this.#finalize(batch);
  }

  async #validate(batch: StoredBatch): Promise<StoredBatch> {
    const { store, files, work } = this.options;
    const { id, endpoint, inputFile } = batch;
    if (inputFile === undefined) return batch;
    const path = await files.path(inputFile).catch(() => undefined);
    if (path === undefined) {
      const message = `The input file ${inputFile} is gone.`;
      return this.#fail([{ code: 'file_not_found', message, param: 'input_file_id' }]);
    }
    const models = new Map<string | undefined, Promise<string | undefined>>();
    const modelProblem = (model: string | undefined) => {
      const known = models.get(model) ?? work.modelProblem(endpoint, model);
      models.set(model, known);
      return known;
    };
    const rules = { endpoint, maxRequests, maxLineBytes: work.maxLineBytes, modelProblem };
    let total = 0;
    let model: string | undefined;
    const problems = await store.writeRequests(id, (add) =>
      readInput(createReadStream(path), rules, async (request) => {
        total += 1;
        if (total === 1 && typeof request.body.model === 'string') model = request.body.model;
        await add(request);
      }),
    );
    if (problems.length > 0) return this.#fail(problems);
    return store.change(id, (present) => ({
      ...present,
      ...(model !== undefined && { model }),
      // It may have been cancelled meanwhile.
      status: present.status === 'validating' ? 'in_progress' : present.status,
      startedAt: this.#seconds(),
      counts: { total, succeeded: 0, failed: 0 },
    }));
  }

  async #fail(problems: readonly BatchProblem[]): Promise<StoredBatch> {
    const { store } = this.options;
    await store.deleteContent(this.id);
    return store.change(this.id, (present) => ({ ...present, status: 'failed', problems, endedAt: this.#seconds() }));
  }

  /** Sends what has no reply. */
  async #answer(batch: StoredBatch): Promise<StoredBatch> {
    const { store, work, startTimer, now } = this.options;
    const { id } = batch;
    await store.repairResults(id);
    const done = new Set<string>();
    let live: Pick<StoredBatch, 'counts' | 'usage'> = {
      counts: { ...batch.counts, succeeded: 0, failed: 0 },
      usage: noUsage,
    };
    for await (const reply of store.replies(id)) {
      done.add(reply.customId);
      live = counted(live, reply);
    }
    this.live = live;
    const save = async (): Promise<StoredBatch> => store.change(id, (present) => ({ ...present, ...this.live }));
    const leftMs = batch.expiresAt * 1000 - now();
    if (batch.status === 'cancelling' || leftMs <= 0) return save();

    const { signal } = this.#stop;
    const expiry = startTimer(Math.min(maxTimerMs, leftMs), () => this.#stop.abort(new Aborted('cancelled')));
    const looking = startTimer(lookMs, () => {
      const look = async () => {
        await save();
        await this.look();
      };
      // A failing disk is noticed by what is written next.
      void look()
        .catch(() => undefined)
        .finally(() => {
          if (!signal.aborted) looking.restart();
        });
    });
    const requests = store.requests(id);
    const next = async (): Promise<void> => {
      while (!signal.aborted && !work.isStopping()) {
        const { value: request, done: isOver } = await requests.next();
        if (isOver) return;
        if (done.has(request.customId)) continue;
        const reply = await this.#reply(batch, request, signal);
        if (!reply) return;
        await store.appendReply(id, reply);
        this.live = counted(this.live ?? live, reply);
      }
    };
    const workers = Array.from({ length: work.concurrency }, () =>
      next().catch((error: unknown) => {
        this.#stop.abort(new Aborted('cancelled'));
        throw error;
      }),
    );
    try {
      await Promise.all(workers);
    } finally {
      await Promise.allSettled(workers);
      this.#stop.abort(new Aborted('cancelled'));
      expiry.cancel();
      looking.cancel();
      await requests.return(undefined);
    }
    return save();
  }

  /** Undefined if the batch or the server stops before. */
  async #reply(batch: StoredBatch, request: BatchRequest, signal: AbortSignal) {
    const { work, startTimer } = this.options;
    for (let tries = 1; !signal.aborted && !work.isStopping(); ) {
      const delay = await work.delay(batch, request);
      if (delay > 0) {
        await pauseUnlessAborted(startTimer, delay, signal);
        continue;
      }
      const yielded = new AbortController();
      const own = AbortSignal.any([signal, yielded.signal]);
      const turn = { signal: own, giveWay: () => yielded.abort(new Aborted('cancelled')) };
      const { retryMs, ...reply } = await work.send(batch, request, turn);
      if (own.aborted || work.isStopping()) continue;
      if (retryMs === undefined || tries >= maxTries)
        return { ...reply, type: 'reply', customId: request.customId } satisfies BatchResult;
      tries += 1;
      await pauseUnlessAborted(startTimer, retryMs, signal);
    }
    return undefined;
  }

  /** Not cancelled, and with requests that have no reply: it has expired. */
  async #finalize(batch: StoredBatch): Promise<void> {
    const { store, files } = this.options;
    const { id, api, counts, outputSeconds } = batch;
    const missing = counts.total - counts.succeeded - counts.failed;
    const isCancelled = batch.cancelledAt !== undefined;
    const outcome = isCancelled ? 'cancelled' : missing > 0 ? 'expired' : 'completed';
    const keepsFiles = api === 'openai';
    // The ids are stored before the files, so that a crash between them leaves no second files.
    const planned = await store.change(id, (present) => ({
      ...present,
      status: isCancelled ? 'cancelling' : 'finalizing',
      finalizingAt: present.finalizingAt ?? this.#seconds(),
      planned: present.planned ?? { output: files.newId(), errors: files.newId() },
    }));
    const { output, errors } = planned.planned ?? { output: '', errors: '' };
    const hasOutput = keepsFiles && counts.succeeded > 0;
    const hasErrors = keepsFiles && counts.failed + missing > 0;
    const file = { purpose: 'batch_output', mime: 'application/jsonl', expiresAfter: outputSeconds } as const;
    const { signal } = new AbortController();
    if (hasOutput) {
      const lines = fileLines(id, store.replies(id), 'output');
      await files.add({ ...file, id: output, name: `${id}_output.jsonl` }, lines, signal);
    }
    if (hasErrors) {
      const lines = fileLines(id, resultsOf(store, id, isCancelled ? 'cancelled' : 'expired'), 'errors');
      await files.add({ ...file, id: errors, name: `${id}_error.jsonl` }, lines, signal);
    }
    await store.change(id, (present) => ({
      ...present,
      status: outcome,
      endedAt: this.#seconds(),
      ...(hasOutput && { outputFile: output }),
      ...(hasErrors && { errorFile: errors }),
    }));
    if (keepsFiles) await store.deleteContent(id);
  }

  #seconds(): number {
    return Math.floor(this.options.now() / 1000);
  }
}
