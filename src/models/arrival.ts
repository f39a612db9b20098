import { AppError } from '../core/errors.ts';
import { unlessAborted } from '../core/unless-aborted.ts';
import type { StartTimer } from '../http/timers.ts';

/** A swap, as the requests for the new model see it. */
export interface Arrival {
  /** Whether the old model is removed, so that the registry entry of this name is the new model. */
  begun(): boolean;
  /** Resolves when the new model is loaded; rejects if it cannot be, or with the reason of the signal. */
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

/** Limits how long a request waits for its model. The load goes on for later requests. */
export interface LoadTimeout {
  readonly seconds: number;
  readonly startTimer: StartTimer;
}

/** Runs the work with a signal that also aborts after the time-out. */
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
