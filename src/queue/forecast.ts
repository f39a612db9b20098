import { mayBegin } from './policy.ts';

/** A piece of work with how long it takes; one that runs, with how long it still takes. */
export interface ForeseenWork {
  readonly alone: boolean;
  readonly seconds: number;
}

/** When the last of these begins, if they are served in this order and nobody is quicker or slower than foreseen. */
export function secondsUntilLast(
  order: readonly ForeseenWork[],
  running: readonly ForeseenWork[],
  capacity: number,
): number {
  let now = 0;
  let busy = running.map(({ alone, seconds }) => ({ alone, until: seconds }));
  for (const next of order) {
    while (!mayBegin(next, busy, capacity)) {
      const end = Math.min(...busy.map(({ until }) => until));
      now = Math.max(now, end);
      busy = busy.filter(({ until }) => until > end);
    }
    busy.push({ alone: next.alone, until: now + next.seconds });
  }
  return now;
}

/** When the first of these ends, which is when a place gets free. */
export function secondsUntilFirstEnds(running: readonly ForeseenWork[]): number {
  return running.length === 0 ? 0 : Math.min(...running.map(({ seconds }) => seconds));
}

/**
 * How long something that has run for a while still takes. Past the mean nobody knows; half of it is neither a promise that
 * it is nearly over nor one that it begins anew.
 */
export function secondsLeft(meanSeconds: number, elapsedSeconds: number): number {
  return Math.max(meanSeconds - elapsedSeconds, meanSeconds / 2);
}
