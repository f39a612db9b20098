/** Passed in, so that tests control the time. */
export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Monotonic milliseconds. */
  readonly tick: () => number;
}

/** A timer that can be restarted and cancelled. Passed in, so that tests control the time. */
export interface Timer {
  restart(): void;
  cancel(): void;
}

export type StartTimer = (milliseconds: number, passed: () => void) => Timer;

/** For time-outs that are not restarted. */
export type StartTimeout = (milliseconds: number, passed: () => void) => Pick<Timer, 'cancel'>;

export const systemTimer: StartTimer = (milliseconds, passed) => {
  let timeout: NodeJS.Timeout | undefined = setTimeout(passed, milliseconds);
  return {
    restart: () => {
      // `refresh` also restarts a timeout that has passed, but not one that was cleared.
      if (timeout) timeout.refresh();
      else timeout = setTimeout(passed, milliseconds);
    },
    cancel: () => {
      clearTimeout(timeout);
      timeout = undefined;
    },
  };
};

/** Resolves after this time, or as soon as the signal aborts. */
export function pauseUnlessAborted(startTimer: StartTimer, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = startTimer(milliseconds, end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}
