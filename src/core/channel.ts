/** So many values may wait before whoever asks for room is to wait as well. */
const mostWaiting = 256;

/**
 * A line of values between one who pushes when they come and one who reads when it can. Pushing never waits, so what is
 * pushed must be bounded by its nature (a reply has a token limit), or whoever pushes waits for `room`. A reader that stops
 * early is told to `onCancel`.
 */
export class Channel<Value> implements AsyncIterable<Value> {
  readonly #values: Value[] = [];
  #head = 0;
  #ended = false;
  #room: Promise<void> | undefined;
  #makeRoom: () => void = () => {};
  #waiting: ((result: IteratorResult<Value>) => void) | undefined;

  constructor(private readonly onCancel: () => void = () => {}) {}

  push(value: Value): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    if (waiting) {
      this.#waiting = undefined;
      waiting({ value, done: false });
    } else {
      this.#values.push(value);
    }
  }

  /** Undefined while few values wait; otherwise resolves when the reader has caught up, or reads no more. */
  room(): Promise<void> | undefined {
    if (this.#ended || this.#values.length - this.#head < mostWaiting) return undefined;
    this.#room ??= new Promise((resolve) => {
      this.#makeRoom = resolve;
    });
    return this.#room;
  }

  end(): void {
    this.#ended = true;
    this.#caughtUp();
    this.#waiting?.({ value: undefined, done: true });
    this.#waiting = undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<Value> {
    return {
      next: () => {
        if (this.#head < this.#values.length) return Promise.resolve({ value: this.#take(), done: false });
        if (this.#ended) return Promise.resolve({ value: undefined, done: true });
        return new Promise((resolve) => {
          this.#waiting = resolve;
        });
      },
      return: () => {
        const early = !this.#ended;
        this.end();
        if (early) this.onCancel();
        return Promise.resolve({ value: undefined, done: true });
      },
    };
  }

  #take(): Value {
    const value = this.#values[this.#head] as Value;
    this.#head += 1;
    if (this.#head === this.#values.length) {
      this.#values.length = 0;
      this.#head = 0;
      this.#caughtUp();
    }
    return value;
  }

  #caughtUp(): void {
    this.#room = undefined;
    this.#makeRoom();
  }
}

/**
 * The same values, read to their end whether or not anybody reads them here: whoever makes them is never told that nobody listens.
 * What nobody has read yet is held, so there must be an end to it.
 */
export function readOn<Value>(values: AsyncIterable<Value>): AsyncIterable<Value> {
  const held: Value[] = [];
  let over = false;
  let failure: { readonly reason: unknown } | undefined;
  let wake = () => {};
  let left = false;
  void (async () => {
    try {
      for await (const value of values) {
        if (!left) held.push(value);
        wake();
      }
    } catch (reason) {
      failure = { reason };
    } finally {
      over = true;
      wake();
    }
  })();
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          while (held.length > 0) yield* held.splice(0);
          if (over) break;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        if (failure) throw failure.reason;
      } finally {
        left = true;
        held.length = 0;
      }
    },
  };
}
