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
