import { AppError } from '../core/errors.ts';

/** A place in the queue: `turn` resolves when the work may begin, and `leave` gives the place back at any time. */
export interface Place {
  readonly turn: Promise<void>;
  leave(): void;
}

/**
 * Who works and who waits, first come first served. Admission is decided at once: a request is taken in or refused, and
 * a waiting one that leaves (its client went away) frees its place for the next.
 */
export class Queue {
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly capacity: number,
    private readonly waitingPlaces: () => number,
    private readonly retryAfterSeconds: () => number = () => 5,
  ) {}

  get waiting(): number {
    return this.#waiting.size;
  }

  get running(): number {
    return this.#running;
  }

  enter(): Place {
    if (this.#running < this.capacity && this.#waiting.size === 0) {
      this.#running += 1;
      return { turn: Promise.resolve(), leave: once(() => this.#finish()) };
    }
    if (this.#waiting.size >= this.waitingPlaces()) {
      throw new AppError('busy', { retryAfterSeconds: this.retryAfterSeconds() });
    }
    let begin: () => void = () => {};
    const turn = new Promise<void>((resolve) => {
      begin = resolve;
    });
    this.#waiting.add(begin);
    return { turn, leave: once(() => this.#waiting.delete(begin) || this.#finish()) };
  }

  #finish(): void {
    this.#running -= 1;
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next);
    this.#running += 1;
    next();
  }
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
