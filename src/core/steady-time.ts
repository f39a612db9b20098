/**
 * Milliseconds since 1970 as they were known at the start of the process, counted on by a monotonic clock: for orders of use that also
 * files of earlier processes belong to. A clock that is set meanwhile changes no order.
 */
export function steadyTime(): number {
  return performance.timeOrigin + performance.now();
}
