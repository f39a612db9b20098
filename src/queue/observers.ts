import type { TaskObserver } from './tasks.ts';
import type { TextObserver } from './text.ts';

/** One observer that calls all of them in order. */
export function together(observers: readonly TextObserver[]): TextObserver {
  return {
    turnCame: (waited) => {
      for (const one of observers) one.turnCame?.(waited);
    },
    sharingRefused: (reason, job) => {
      for (const one of observers) one.sharingRefused?.(reason, job);
    },
    begun: (request, job, contextSize) => {
      for (const one of observers) one.begun?.(request, job, contextSize);
    },
    promptProgress: (progress) => {
      for (const one of observers) one.promptProgress?.(progress);
    },
    event: (event, job) => {
      for (const one of observers) one.event?.(event, job);
    },
    aborted: (job, by) => {
      for (const one of observers) one.aborted?.(job, by);
    },
    abortAsked: (genkey, deferred) => {
      for (const one of observers) one.abortAsked?.(genkey, deferred);
    },
  };
}

/** The same for tasks. */
export function eachTask(observers: readonly TaskObserver[]): TaskObserver {
  return {
    turnCame: (waited) => {
      for (const one of observers) one.turnCame?.(waited);
    },
    begun: (job) => {
      for (const one of observers) one.begun?.(job);
    },
    ended: (job, milliseconds, error) => {
      for (const one of observers) one.ended?.(job, milliseconds, error);
    },
  };
}
