import type { TaskObserver } from './tasks.ts';
import type { TextObserver } from './text.ts';

/** One observer that calls all of them in order. */
export function together(observers: readonly TextObserver[]): TextObserver {
  const each = callEach(observers);
  return {
    dequeued: (waited) => each((one) => one.dequeued?.(waited)),
    sharingRefused: (reason, job) => each((one) => one.sharingRefused?.(reason, job)),
    begun: (request, job, contextSize) => each((one) => one.begun?.(request, job, contextSize)),
    promptProgress: (progress) => each((one) => one.promptProgress?.(progress)),
    // Called for each token: without a closure.
    event: (event, job) => {
      for (const one of observers) one.event?.(event, job);
    },
    aborted: (job, by) => each((one) => one.aborted?.(job, by)),
    abortAsked: (genkey, deferred) => each((one) => one.abortAsked?.(genkey, deferred)),
  };
}

/** The same for tasks. */
export function eachTask(observers: readonly TaskObserver[]): TaskObserver {
  const each = callEach(observers);
  return {
    dequeued: (waited) => each((one) => one.dequeued?.(waited)),
    begun: (job) => each((one) => one.begun?.(job)),
    ended: (job, milliseconds, error) => each((one) => one.ended?.(job, milliseconds, error)),
  };
}

function callEach<Observer>(observers: readonly Observer[]) {
  return (call: (one: Observer) => void): void => {
    for (const one of observers) call(one);
  };
}
