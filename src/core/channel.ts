/**
 * A line of values between one who pushes when they come and one who reads when it can. Pushing never waits, so what is
 * pushed must be bounded by its nature (a reply has a token limit). A reader that stops early is told to `onCancel`.
 */
export class Channel<Value> implements AsyncIterable<Value> {
  readonly #values: Value[] = [];
  #head = 0;
  #ended = false;
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

  end(): void {
    this.#ended = true;
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
    }
    return value;
  }
}
