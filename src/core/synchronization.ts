export type Deferred<Value> = ReturnType<typeof deferred<Value>>;

/** A promise that is settled from outside. */
export function deferred<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

/** Any number of waiters, which are released together. */
export class Latch {
  #waiting: (() => void)[] = [];

  /** Resolves at the next `release`. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Releases those that wait now; later waiters wait for the next release. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Runs one piece of work at a time, in the order of the calls. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Work that fails rejects for its caller only; the next piece runs. */
  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** Counts the users of something. Any number of waiters learn when none is left. */
export class Uses {
  #count = 0;
  readonly #unused = new Latch();

  get count(): number {
    return this.#count;
  }

  /** Returns what ends this use; later calls of it do nothing. */
  begin(): () => void {
    this.#count += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#count -= 1;
      if (this.#count === 0) this.#unused.release();
    };
  }

  /** Resolves when the count is 0, at once if it is. A use that begins right afterwards does not matter. */
  idle(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : this.#unused.wait();
  }
}
