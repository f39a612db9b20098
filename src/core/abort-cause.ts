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
