/** At most this long until the next try, so that a server that is there again is found within a quarter of a minute. */
const longestMs = 8000;

/** How long to wait before a server that was lost is tried again, after so many failures in a row. */
export function backoffMs(failures: number): number {
  return Math.min(longestMs, 250 * 2 ** Math.max(0, failures - 1));
}
