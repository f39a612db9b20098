/** Unread values from which `room` waits. */
const maxWaiting = 256;

/**
 * A queue of values between a producer and one consumer. `push` never waits, so the number of values must be bounded, or the
 * producer waits for `room`. `onCancel` is called when the consumer stops early.
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

  /** Undefined while few values are unread; otherwise resolves when all are read, or the consumer has stopped. */
  room(): Promise<void> | undefined {
    if (this.#ended || this.#values.length - this.#head < maxWaiting) return undefined;
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
        this.#values.length = 0;
        this.#head = 0;
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

/** The same values, read to their end even if the consumer stops. Unread values are buffered, so they must be bounded. */
export function readOn<Value>(values: AsyncIterable<Value>): AsyncIterable<Value> {
  const results = new Channel<() => Value>();
  void (async () => {
    try {
      for await (const value of values) results.push(() => value);
    } catch (reason) {
      results.push(() => {
        throw reason;
      });
    }
    results.end();
  })();
  return {
    async *[Symbol.asyncIterator]() {
      for await (const result of results) yield result();
    },
  };
}
