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

/** A text that waits to be computed. */
export interface Piece {
  /** Whose it is: those who wait at the same time take turns. */
  readonly owner: number;
  readonly tokens: number;
  /** Only what is pooled in the same way can be computed together. */
  readonly pooling: string;
}

export interface Room {
  /** How many tokens are computed together; a longer text is computed alone. */
  readonly tokens: number;
  readonly sequences: number;
}

/**
 * What is computed next of all that waits, the oldest first and then one of each owner in turn. Each owner keeps its order; one
 * whose next text does not fit lets the others go on.
 */
export function nextBatch<Waiting extends Piece>(waiting: readonly Waiting[], room: Room): Waiting[] {
  const [oldest] = waiting;
  if (!oldest) return [];
  const lines = new Map<number, Waiting[]>();
  for (const piece of waiting) {
    if (piece.pooling !== oldest.pooling) continue;
    const line = lines.get(piece.owner);
    if (line) line.push(piece);
    else lines.set(piece.owner, [piece]);
  }
  const batch: Waiting[] = [];
  let tokens = 0;
  const queues = [...lines.values()].map((line) => ({ line, next: 0 }));
  for (let added = true; added; ) {
    added = false;
    for (const queue of queues) {
      const piece = queue.line[queue.next];
      if (!piece || batch.length >= room.sequences) continue;
      if (batch.length > 0 && tokens + piece.tokens > room.tokens) continue;
      batch.push(piece);
      tokens += piece.tokens;
      queue.next += 1;
      added = true;
    }
  }
  return batch;
}
