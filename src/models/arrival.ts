import { AppError } from '../core/errors.ts';
import { unlessAborted } from '../core/unless-aborted.ts';
import type { StartTimer } from '../http/timers.ts';

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
    private readonly timeout?: LoadTimeout,
  ) {
    this.#ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  begun(): boolean {
    return this.#begun;
  }

  async over(signal: AbortSignal | undefined): Promise<void> {
    const error = await withTimeout(this.name, this.timeout, signal, (until) => unlessAborted(this.#ended, until));
    if (error) throw error;
  }

  begin(): void {
    this.#begun = true;
  }

  end(error?: AppError): void {
    this.#settle(error);
  }
}

/** How long a request waits for its model; the load itself goes on for those who come later. */
export interface LoadTimeout {
  readonly seconds: number;
  readonly startTimer: StartTimer;
}

/** The signal for the work fires when the time is over, too. */
export async function withTimeout<Value>(
  model: string,
  timeout: LoadTimeout | undefined,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<Value>,
): Promise<Value> {
  if (!timeout) return work(signal);
  const { seconds, startTimer } = timeout;
  const late = new AbortController();
  const timer = startTimer(seconds * 1000, () => late.abort(new AppError('model-late', { model, seconds })));
  try {
    return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
  } finally {
    timer.cancel();
  }
}
