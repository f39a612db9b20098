import type { Route } from '../ui/navigation.svelte.ts';

/** A reply or an image that has ended. */
export interface Work {
  readonly kind: 'reply' | 'image' | 'failed';
  /** All that a notification tells about it. */
  readonly title: string;
  /** What a click on the notification opens. */
  readonly route: Route;
  readonly since: number;
}

/** Shorter work is over before somebody has turned to something else. */
const longMs = 8000;

export function isWorthNotice(
  { since }: Work,
  { hidden, now }: { readonly hidden: boolean; readonly now: number },
): boolean {
  return hidden && now - since >= longMs;
}
