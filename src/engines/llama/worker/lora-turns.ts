interface WaitingTurn {
  readonly setting: string;
  /** Whether its request was aborted meanwhile. */
  readonly isOver: () => boolean;
  readonly begin: () => void;
}

/**
 * Requests with one setting of LoRA adapters run together. The library applies adapters to a whole context, and what is cached was
 * computed with them: another setting waits until all requests of this one have ended. Settings take turns in order of arrival.
 */
export class LoraTurns {
  #running = 0;
  #isChanging = false;
  readonly #waiting: WaitingTurn[] = [];

  constructor(
    private present: string,
    /** Runs while no request does. */
    private readonly change: (setting: string) => Promise<void>,
  ) {}

  get setting(): string {
    return this.present;
  }

  /** Resolves when the setting applies; it applies until the returned function is called. */
  async enter(setting: string, isOver: () => boolean = () => false): Promise<() => void> {
    if (setting !== this.present || this.#isChanging || this.#waiting.length > 0) {
      await new Promise<void>((begin) => {
        this.#waiting.push({ setting, isOver, begin });
        void this.#next();
      });
    } else this.#running += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#running -= 1;
      void this.#next();
    };
  }

  /** Admits the first waiting request, with all others of its setting. */
  async #next(): Promise<void> {
    if (this.#isChanging) return;
    for (const aborted of this.#waiting.filter(({ isOver }) => isOver())) this.#admit(aborted);
    const [first] = this.#waiting;
    if (!first || (this.#running > 0 && first.setting !== this.present)) return;
    if (first.setting !== this.present) {
      this.#isChanging = true;
      try {
        await this.change(first.setting);
        this.present = first.setting;
      } finally {
        this.#isChanging = false;
      }
    }
    for (const waiting of this.#waiting.filter(({ setting }) => setting === this.present)) this.#admit(waiting);
  }

  #admit(waiting: WaitingTurn): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    this.#running += 1;
    waiting.begin();
  }
}
