import type { Work } from './rules.ts';

/** Reports work that has ended while nobody looks at the page. */
export function tellDone(work: () => Work): void {
  if (document.hidden) void import('./notifications.svelte.ts').then(({ workDone }) => workDone(work()));
}
