/** A timer that can be restarted and cancelled. Passed in, so that tests control the time. */
export interface Timer {
  restart(): void;
  cancel(): void;
}

export type StartTimer = (milliseconds: number, passed: () => void) => Timer;

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
