interface WritableText {
  write(text: string, done?: () => void): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/** 128 and the number of SIGPIPE, as shells report it. */
const readerGoneCode = 141;

/** Standard output as the result of a mode: write errors decide the exit code. */
export class ResultOutput {
  readonly #lost = new AbortController();
  #error: NodeJS.ErrnoException | undefined;

  constructor(private readonly stream: WritableText) {
    stream.on('error', (error) => {
      this.#error ??= error;
      this.#lost.abort();
    });
  }

  /** Aborts when writing fails. */
  get closed(): AbortSignal {
    return this.#lost.signal;
  }

  write(text: string): void {
    if (!this.#error) this.stream.write(text);
  }

  /** The exit code, once everything is written. A reader that closed the pipe is no error. */
  async finish(log: (sentence: string) => void): Promise<number> {
    await new Promise<void>((resolve) => this.stream.write('', () => resolve()));
    // Errors are emitted after the write callback.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#error) return 0;
    if (this.#error.code === 'EPIPE') return readerGoneCode;
    log(`Standard output cannot be written: ${this.#error.message}`);
    return 1;
  }
}
