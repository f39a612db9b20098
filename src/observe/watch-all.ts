import type { ExchangeWatch, WatchExchange } from '../core/exchange-watch.ts';

/** Follows each request for all sinks that want it. */
export function watchAll(sinks: readonly WatchExchange[]): WatchExchange {
  return (head) => {
    const watches = sinks.map((sink) => sink(head)).filter((watch) => watch !== undefined);
    return watches.length < 2 ? watches[0] : together(watches);
  };
}

function together(watches: readonly ExchangeWatch[]): ExchangeWatch {
  const each = (call: (watch: ExchangeWatch) => void): void => {
    for (const watch of watches) call(watch);
  };
  // Called for each token or write: only those that want it, and without a closure.
  const eventWatches = watches.filter(({ event }) => event);
  const replyWatches = watches.filter(({ replyEvent }) => replyEvent);
  const writeWatches = watches.filter(({ wrote }) => wrote);
  return {
    authorized: (...facts) => each((watch) => watch.authorized?.(...facts)),
    received: (body) => each((watch) => watch.received?.(body)),
    traceparent: watches.find(({ traceparent }) => traceparent !== undefined)?.traceparent,
    modelSelected: (name) => each((watch) => watch.modelSelected?.(name)),
    decoded: (request) => each((watch) => watch.decoded?.(request)),
    rearranged: (changes) => each((watch) => watch.rearranged?.(changes)),
    queued: (kind) => each((watch) => watch.queued?.(kind)),
    dequeued: (waitedMs) => each((watch) => watch.dequeued?.(waitedMs)),
    engineReady: (...facts) => each((watch) => watch.engineReady?.(...facts)),
    taskBegun: (kind) => each((watch) => watch.taskBegun?.(kind)),
    taskEnded: (...facts) => each((watch) => watch.taskEnded?.(...facts)),
    generationBegun: (...facts) => each((watch) => watch.generationBegun?.(...facts)),
    event: (event, job, request) => {
      for (const watch of eventWatches) watch.event?.(event, job, request);
    },
    ...(replyWatches.length > 0 && {
      replyEvent: (reply, event) => {
        for (const watch of replyWatches) watch.replyEvent?.(reply, event);
      },
    }),
    used: (counts) => each((watch) => watch.used?.(counts)),
    left: () => each((watch) => watch.left?.()),
    errored: (error) => each((watch) => watch.errored?.(error)),
    replied: (status, headers) => each((watch) => watch.replied?.(status, headers)),
    ...(writeWatches.length > 0 && {
      wrote: (piece) => {
        for (const watch of writeWatches) watch.wrote?.(piece);
      },
    }),
    ended: (how) => each((watch) => watch.ended?.(how)),
  };
}
