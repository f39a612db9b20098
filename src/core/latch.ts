/** Any number of waiters, which are released together. */
export class Latch {
  #waiting: (() => void)[] = [];

  /** Resolves at the next `release`. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Releases those that wait now; who waits later waits for the next time. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
