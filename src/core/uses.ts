import { Latch } from './latch.ts';

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
