export type AbortCause =
  | 'client-gone'
  /** By the abort endpoint, with the key of the request or without one. */
  | 'key'
  | 'no-key'
  /** By the cancel endpoint of a background response. */
  | 'cancelled'
  | 'shutdown'
  /** Its events are no longer read. */
  | 'unread';

export class Aborted extends Error {
  override readonly name = 'AbortError';

  constructor(readonly by: AbortCause) {
    super(`aborted: ${by}`);
  }
}

export function abortCause({ reason }: Pick<AbortSignal, 'reason'>): AbortCause {
  return reason instanceof Aborted ? reason.by : 'unread';
}

/**
 * Aborts the controller with the signal, until it is released. Cheaper than `AbortSignal.any`, whose signals have to be found by the
 * garbage collector.
 */
export function linkAbort(controller: AbortController, signal: AbortSignal | undefined): { release(): void } {
  const abort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  return { release: () => signal?.removeEventListener('abort', abort) };
}

/** Settles as the promise does, or rejects with the reason of the signal as soon as it aborts. Leaves no listener behind. */
export function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
