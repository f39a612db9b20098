import type { StartTimer, Timer } from '../core/timers.ts';

/**
 * While other work never ends, background work of each lane runs for 100 ms, at most every two seconds: 5% of the time. If a request waits
 * for its end, because the lane has no free slot, it is every ten seconds: what that client has in the cache is evicted, too.
 */
export const share = { everyMs: 2000, everyDelayingMs: 10_000, forMs: 100 } as const;

interface ShareDeps {
  readonly startTimer: StartTimer;
  /** Some background work may begin. */
  readonly due: () => void;
}

interface Lane {
  /** The pause after its background work has run. */
  readonly rest: Timer;
  isDue: boolean;
}

type Rest = (typeof share)['everyMs' | 'everyDelayingMs'];

/** Decides when the background work of a lane may begin while other work runs, and when it has to give way again. */
export class BackgroundShare {
  readonly #lanes = new Map<string, Lane>();
  readonly #turns = new Set<Timer>();
  #closed = false;

  constructor(private readonly deps: ShareDeps) {}

  isDue(lane: string): boolean {
    return this.#lanes.get(lane)?.isDue === true;
  }

  /** Background work waits. */
  waits(lane: string): void {
    if (!this.#lanes.has(lane)) this.#rest(lane, share.everyMs);
  }

  /** It has begun in its share, which ends later. */
  began(lane: string, over: () => void): void {
    this.#drop(lane);
    const turn = this.deps.startTimer(share.forMs, () => {
      this.#turns.delete(turn);
      over();
    });
    this.#turns.add(turn);
  }

  /** Its turn is over. `delays`: a request has waited for that. */
  ended(lane: string, delays: boolean): void {
    this.#drop(lane);
    this.#rest(lane, delays ? share.everyDelayingMs : share.everyMs);
  }

  close(): void {
    this.#closed = true;
    for (const turn of this.#turns) turn.cancel();
    for (const lane of [...this.#lanes.keys()]) this.#drop(lane);
  }

  #rest(lane: string, milliseconds: Rest): void {
    if (this.#closed) return;
    const rest = this.deps.startTimer(milliseconds, () => {
      const own = this.#lanes.get(lane);
      if (own) own.isDue = true;
      this.deps.due();
    });
    this.#lanes.set(lane, { rest, isDue: false });
  }

  #drop(lane: string): void {
    this.#lanes.get(lane)?.rest.cancel();
    this.#lanes.delete(lane);
  }
}
