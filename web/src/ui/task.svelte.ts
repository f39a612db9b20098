import { sentenceOf } from '../api/failure.ts';

/** What a form or a page waits for. */
export class Task {
  busy = $state(false);
  /** Why it failed, for people. */
  problem = $state('');
  #current: AbortController | undefined;

  /** Resolves to whether it was done; false as well while something else goes on. */
  async run(work: (signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
    return !this.busy && this.restart(work);
  }

  /** Stops what goes on, and does this instead. */
  async restart(work: (signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
    this.stop();
    const own = new AbortController();
    this.#current = own;
    this.busy = true;
    this.problem = '';
    try {
      await work(own.signal);
      return !own.signal.aborted;
    } catch (thrown) {
      if (!own.signal.aborted) this.problem = sentenceOf(thrown);
      return false;
    } finally {
      if (this.#current === own) this.busy = false;
    }
  }

  stop(): void {
    this.#current?.abort();
  }
}
