import type { Pooling } from '../../../core/embedding.ts';

/** Computes one batch at a time. */
export interface Computer {
  readonly limit: BatchLimit;
  /** The vectors of each text; undefined if stopped. */
  compute(pooling: Pooling, texts: readonly Int32Array[]): Promise<readonly (readonly Float32Array[])[] | undefined>;
  /** Aborts the running batch, if possible. */
  stop(): void;
}

interface Waiting extends Piece {
  readonly text: Int32Array;
  readonly done: (vectors: readonly Float32Array[]) => void;
  readonly failed: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/** Batches the texts of all waiting tasks. */
export class SharedBatches {
  #waiting: Waiting[] = [];
  #running: readonly Waiting[] = [];
  #owners = 0;

  constructor(private readonly computer: Computer) {}

  /** Rejects with the reason of the signal; the rest is not computed. */
  async vectors(pooling: Pooling, texts: readonly Int32Array[], signal: AbortSignal) {
    signal.throwIfAborted();
    this.#owners += 1;
    const owner = this.#owners;
    const results = texts.map(
      (text) =>
        new Promise<readonly Float32Array[]>((done, failed) => {
          this.#waiting.push({ owner, pooling, text, tokens: text.length, done, failed, signal });
        }),
    );
    const leave = (): void => this.#leave(owner, signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    // Requests of the same turn are in the same batch.
    setImmediate(() => void this.#pump());
    try {
      return await Promise.all(results);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #leave(owner: number, reason: unknown): void {
    for (const { owner: whose, failed } of [...this.#waiting, ...this.#running]) if (whose === owner) failed(reason);
    this.#waiting = this.#waiting.filter((piece) => piece.owner !== owner);
    if (this.#running.length > 0 && this.#running.every(({ signal }) => signal.aborted)) this.computer.stop();
  }

  async #pump(): Promise<void> {
    while (this.#running.length === 0 && this.#waiting.length > 0) {
      const batch = nextBatch(this.#waiting, this.computer.limit);
      const taken = new Set(batch);
      this.#waiting = this.#waiting.filter((piece) => !taken.has(piece));
      this.#running = batch;
      await this.#compute(batch);
      this.#running = [];
    }
  }

  async #compute(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    if (!first) return;
    const texts = batch.map(({ text }) => text);
    try {
      const computed = await this.computer.compute(first.pooling, texts);
      batch.forEach(({ done, failed, signal }, index) => {
        const vectors = computed?.[index];
        if (vectors) done(vectors);
        else failed(signal.reason);
      });
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}

/** A waiting text. */
export interface Piece {
  /** Task of the text; tasks take turns. */
  readonly owner: number;
  readonly tokens: number;
  /** The same for all texts of a batch. */
  readonly pooling: Pooling;
}

/** A text of more than `tokens` is a batch by itself. */
export type BatchLimit = Readonly<Record<'tokens' | 'sequences', number>>;

/** The next batch: the oldest text first, then one of each owner in turn, in the order of the owner, as long as they fit. */
export function nextBatch<Text extends Piece>(waiting: readonly Text[], limit: BatchLimit): Text[] {
  const [oldest] = waiting;
  if (!oldest) return [];
  const queues = new Map<number, Text[]>();
  for (const text of waiting) {
    if (text.pooling !== oldest.pooling) continue;
    const queue = queues.get(text.owner);
    if (queue) queue.push(text);
    else queues.set(text.owner, [text]);
  }
  const batch: Text[] = [];
  let tokens = 0;
  for (let round = 0, added = true; added; round += 1) {
    added = false;
    for (const [owner, queue] of queues) {
      const text = queue[round];
      if (!text || batch.length >= limit.sequences) continue;
      if (batch.length > 0 && tokens + text.tokens > limit.tokens) {
        // Its later texts stay behind this one, in their order.
        queues.delete(owner);
        continue;
      }
      batch.push(text);
      tokens += text.tokens;
      added = true;
    }
  }
  return batch;
}
