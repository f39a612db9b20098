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
