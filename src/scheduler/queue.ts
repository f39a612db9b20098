import { AppError } from '../core/errors.ts';
import { mayBegin, pickNext, servingOrder, startingLevel, takeTurn, type Waiting } from './policy.ts';

/** A place in the queue: `turn` resolves when the work may begin, and `leave` gives the place back at any time. */
export interface Place {
  readonly turn: Promise<void>;
  /** How many go before it, as things stand; 0 once its turn has come. */
  position(): number;
  leave(): void;
}

export interface QueueOptions {
  /** How many may work at once, of those that can share the engine. */
  readonly capacity: number;
  readonly waitingPlaces: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

interface Entry extends Waiting {
  readonly begin: () => void;
  startedAt: number | undefined;
}

const firstGuessSeconds = 5;

/**
 * Who works and who waits. Admission is decided at once: a request is taken in or refused, and a waiting one that leaves
 * (its client went away) frees its place for the next. Clients take turns; see `policy`.
 */
export class Queue {
  readonly #running = new Set<Entry>();
  readonly #waiting: Entry[] = [];
  #turns: ReadonlyMap<string, number> = new Map();
  /** A moving mean of how long the work takes, for the guess that a refused client is given. */
  #meanSeconds = firstGuessSeconds;

  constructor(private readonly options: QueueOptions) {}

  get waiting(): number {
    return this.#waiting.length;
  }

  get running(): number {
    return this.#running.size;
  }

  /** How long somebody who came now would wait. */
  estimateSeconds({ client = '', alone = false }: Partial<Waiting> = {}): number {
    const { capacity } = this.options;
    if (this.#waiting.length === 0 && mayBegin({ client, alone }, [...this.#running], capacity)) return 0;
    const rounds = Math.ceil((this.#waiting.length + 1) / capacity);
    return Math.max(1, Math.round(rounds * this.#meanSeconds));
  }

  enter({ client = '', alone = false }: Partial<Waiting> = {}): Place {
    let begin: () => void = () => {};
    const turn = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const entry: Entry = { client, alone, begin, startedAt: undefined };
    this.#turns = new Map(this.#turns).set(client, startingLevel(this.#turns, client));
    this.#waiting.push(entry);
    this.#admit();
    if (this.#waiting.length > this.options.waitingPlaces() && this.#waiting.includes(entry)) {
      this.#waiting.splice(this.#waiting.indexOf(entry), 1);
      throw new AppError('busy', { retryAfterSeconds: this.estimateSeconds(entry) });
    }
    return {
      turn,
      position: () => servingOrder(this.#waiting, this.#turns).indexOf(entry) + 1,
      leave: () => this.#leave(entry),
    };
  }

  #admit(): void {
    for (;;) {
      const next = pickNext(this.#waiting, this.#turns);
      if (!next || !mayBegin(next, [...this.#running], this.options.capacity)) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#running.add(next);
      const present = new Set([...this.#running, ...this.#waiting].map(({ client }) => client));
      this.#turns = takeTurn(this.#turns, next.client, 1, present);
      next.startedAt = this.#now();
      next.begin();
    }
  }

  #leave(entry: Entry): void {
    const place = this.#waiting.indexOf(entry);
    if (place !== -1) this.#waiting.splice(place, 1);
    else if (!this.#running.delete(entry)) return;
    if (entry.startedAt !== undefined) {
      const seconds = (this.#now() - entry.startedAt) / 1000;
      this.#meanSeconds = 0.7 * this.#meanSeconds + 0.3 * seconds;
    }
    this.#admit();
  }

  #now(): number {
    return this.options.now?.() ?? performance.now();
  }
}
