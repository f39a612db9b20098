/** How long to wait before the next start of an engine that keeps dying: at once, then longer and longer, up to a limit. */
export function backoffMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(30_000, 500 * 2 ** (failures - 2));
}
