import { nextBatch, type Piece, type Room } from './packing.ts';

/** What computes: one batch at a time. */
export interface Computer<Pooling extends string> {
  readonly room: Room;
  /** The vectors of each text, or nothing where it was stopped. */
  compute(pooling: Pooling, texts: readonly Int32Array[]): Promise<readonly (readonly Float32Array[])[] | undefined>;
  /** Ends what is being computed, as far as that is possible. */
  stop(): void;
}

interface Waiting<Pooling extends string> extends Piece {
  readonly pooling: Pooling;
  readonly text: Int32Array;
  readonly done: (vectors: readonly Float32Array[]) => void;
  readonly failed: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/** Texts of all tasks that wait, computed together. */
export class SharedBatches<Pooling extends string> {
  #waiting: Waiting<Pooling>[] = [];
  #running: readonly Waiting<Pooling>[] = [];
  #owners = 0;

  constructor(private readonly computer: Computer<Pooling>) {}

  /** Rejects with the reason of the signal once that fires: the rest is not computed then. */
  async vectors(
    pooling: Pooling,
    texts: readonly Int32Array[],
    signal: AbortSignal,
  ): Promise<readonly (readonly Float32Array[])[]> {
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
    // Whoever else has been asking in this turn is in the same batch.
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
      const batch = nextBatch(this.#waiting, this.computer.room);
      const taken = new Set(batch);
      this.#waiting = this.#waiting.filter((piece) => !taken.has(piece));
      this.#running = batch;
      await this.#compute(batch);
      this.#running = [];
    }
  }

  async #compute(batch: readonly Waiting<Pooling>[]): Promise<void> {
    const [first] = batch;
    if (!first) return;
    try {
      const found = await this.computer.compute(
        first.pooling,
        batch.map(({ text }) => text),
      );
      batch.forEach(({ done, failed, signal }, index) => {
        const vectors = found?.[index];
        if (vectors) done(vectors);
        else failed(signal.reason);
      });
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}
