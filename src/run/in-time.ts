import { AppError } from '../core/errors.ts';
import type { StartTimer } from '../http/timers.ts';

/** How long a request waits for its model; the load itself goes on for those who come later. */
export interface Patience {
  readonly seconds: number;
  readonly startTimer: StartTimer;
}

/** The signal for the work fires when the time is over, too. */
export async function inTime<Value>(
  model: string,
  patience: Patience | undefined,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<Value>,
): Promise<Value> {
  if (!patience) return work(signal);
  const { seconds, startTimer } = patience;
  const late = new AbortController();
  const timer = startTimer(seconds * 1000, () => late.abort(new AppError('model-late', { model, seconds })));
  try {
    return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
  } finally {
    timer.cancel();
  }
}
