import { mayBegin } from './policy.ts';

/** A job with its expected duration, or the remaining one if it runs. */
export interface ExpectedWork {
  readonly alone: boolean;
  readonly seconds: number;
}

/** When the last of these begins, if they run in this order and take as long as expected. */
export function secondsUntilLast(
  order: readonly ExpectedWork[],
  running: readonly ExpectedWork[],
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

/** When the first of these ends and frees its place. */
export function secondsUntilFirstEnds(running: readonly ExpectedWork[]): number {
  return running.length === 0 ? 0 : Math.min(...running.map(({ seconds }) => seconds));
}

/** Expected remaining time of running work; at least half of the mean. */
export function secondsLeft(meanSeconds: number, elapsedSeconds: number): number {
  return Math.max(meanSeconds - elapsedSeconds, meanSeconds / 2);
}
