import type { AppError } from '../core/errors.ts';
import { orGone } from '../core/or-gone.ts';
import { inTime, type Patience } from './in-time.ts';

/** A model that takes the place of another one, as those see it who wait for it. */
export interface Arrival {
  /** Whether the other one is gone, and what the registry knows by this name is the new one. */
  begun(): boolean;
  /** Resolves when it is there; rejects with the reason why it cannot be, or that of the signal. */
  over(signal: AbortSignal | undefined): Promise<void>;
}

export class Arriving implements Arrival {
  #begun = false;
  #settle: (error: AppError | undefined) => void = () => undefined;
  readonly #ended: Promise<AppError | undefined>;

  constructor(
    private readonly name: string,
    private readonly patience?: Patience,
  ) {
    this.#ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  begun(): boolean {
    return this.#begun;
  }

  async over(signal: AbortSignal | undefined): Promise<void> {
    const error = await inTime(this.name, this.patience, signal, (until) => orGone(this.#ended, until));
    if (error) throw error;
  }

  begin(): void {
    this.#begun = true;
  }

  end(error?: AppError): void {
    this.#settle(error);
  }
}
