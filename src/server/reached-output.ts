/** What is needed of standard output. */
export interface WritableText {
  write(text: string, done?: () => void): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/** As a program is told that its reader is gone: 128 and the number of SIGPIPE. */
const readerGoneCode = 141;

/** Standard output where it is the result itself: whether what was written reached somebody, and what that means in the end. */
export class ReachedOutput {
  readonly #lost = new AbortController();
  #error: NodeJS.ErrnoException | undefined;

  constructor(private readonly stream: WritableText) {
    stream.on('error', (error) => {
      this.#error ??= error;
      this.#lost.abort();
    });
  }

  /** Aborts when writing on is useless. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  write(text: string): void {
    if (!this.#error) this.stream.write(text);
  }

  /** The code to end with, once everything is written. A reader that had enough is nobody's failure and nothing to talk about. */
  async settled(say: (sentence: string) => void): Promise<number> {
    await new Promise<void>((resolve) => this.stream.write('', () => resolve()));
    // A failure is told after the write is over.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#error) return 0;
    if (this.#error.code === 'EPIPE') return readerGoneCode;
    say(`Standard output cannot be written: ${this.#error.message}`);
    return 1;
  }
}
