import type { TextObserver } from './text.ts';

/** One observer that tells everything to all of them, in order. */
export function together(observers: readonly TextObserver[]): TextObserver {
  return {
    turnCame: (waited) => {
      for (const one of observers) one.turnCame?.(waited);
    },
    sharingRefused: (reason) => {
      for (const one of observers) one.sharingRefused?.(reason);
    },
    begun: (request, job) => {
      for (const one of observers) one.begun?.(request, job);
    },
    promptProgress: (progress) => {
      for (const one of observers) one.promptProgress?.(progress);
    },
    event: (event, job) => {
      for (const one of observers) one.event?.(event, job);
    },
    abortAsked: (genkey, deferred) => {
      for (const one of observers) one.abortAsked?.(genkey, deferred);
    },
  };
}
