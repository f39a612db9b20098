/**
 * One accepted request per client address and so many seconds. The clock starts when a request is accepted, not when it
 * ends, and a refused one does not start it anew.
 */
export interface RateLimit {
  /** Whole seconds still to wait; 0 means that the request is accepted, and remembered. */
  take(address: string, now: number): number;
}

export function rateLimit(seconds: number, remembered = 10_000): RateLimit {
  const span = seconds * 1000;
  // Kept in the order of acceptance: what is too old, or too much, stands at the front.
  const acceptedAt = new Map<string, number>();

  const forget = (now: number): void => {
    for (const [address, at] of acceptedAt) {
      if (acceptedAt.size < remembered && now - at < span) return;
      acceptedAt.delete(address);
    }
  };

  return {
    take(address, now) {
      if (span <= 0) return 0;
      const at = acceptedAt.get(address);
      if (at !== undefined && now - at < span) return Math.max(1, Math.ceil((at + span - now) / 1000));
      acceptedAt.delete(address);
      forget(now);
      acceptedAt.set(address, now);
      return 0;
    },
  };
}
