import type { ObserveRequest, RequestObserver } from '../core/request-observer.ts';

/** Follows each request for all sinks that want it. */
export function watchAll(sinks: readonly ObserveRequest[]): ObserveRequest {
  return (head) => {
    const watches = sinks.map((sink) => sink(head)).filter((watch) => watch !== undefined);
    return watches.length < 2 ? watches[0] : together(watches);
  };
}

/** The methods that are not called for each token or write. */
const rareMethods = [
  ...(['authorized', 'received', 'modelSelected', 'decoded', 'rearranged', 'queued', 'dequeued'] as const),
  ...(['engineReady', 'taskBegun', 'taskEnded', 'generationBegun', 'used', 'left'] as const),
  ...(['errored', 'replied', 'ended'] as const),
] satisfies readonly (keyof RequestObserver)[];

function together(watches: readonly RequestObserver[]): RequestObserver {
  const rare = rareMethods.map((name) => [
    name,
    (...facts: unknown[]): void => {
      for (const watch of watches) (watch[name] as ((...facts: unknown[]) => void) | undefined)?.apply(watch, facts);
    },
  ]);
  // Called for each token or write: only those that want it, and without a list of arguments.
  const eventWatches = watches.filter(({ event }) => event);
  const replyWatches = watches.filter(({ replyEvent }) => replyEvent);
  const writeWatches = watches.filter(({ wrote }) => wrote);
  return {
    ...(Object.fromEntries(rare) as Pick<RequestObserver, (typeof rareMethods)[number]>),
    traceparent: watches.find(({ traceparent }) => traceparent !== undefined)?.traceparent,
    event: (event, job, request) => {
      for (const watch of eventWatches) watch.event?.(event, job, request);
    },
    ...(replyWatches.length > 0 && {
      replyEvent: (reply, event) => {
        for (const watch of replyWatches) watch.replyEvent?.(reply, event);
      },
    }),
    ...(writeWatches.length > 0 && {
      wrote: (piece) => {
        for (const watch of writeWatches) watch.wrote?.(piece);
      },
    }),
  };
}
