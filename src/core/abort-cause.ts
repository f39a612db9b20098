/** Who ended a request before its time. */
export type AbortCause =
  | 'client-gone'
  /** Stopped through the abort endpoint, with the key of the request or without any. */
  | 'key'
  | 'no-key'
  /** Cancelled by its own name, as a response in the background is. */
  | 'cancelled'
  | 'shutdown'
  /** Whoever was to write it down reads no more of it. */
  | 'unread';

/** The reason of a signal whose aborter says who it is. */
export class Aborted extends Error {
  override readonly name = 'AbortError';

  constructor(readonly by: AbortCause) {
    super(`aborted: ${by}`);
  }
}

export function abortCause({ reason }: Pick<AbortSignal, 'reason'>): AbortCause {
  return reason instanceof Aborted ? reason.by : 'unread';
}
