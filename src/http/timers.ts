/** A timer that can be restarted and cancelled. Passed in, so that tests control the time. */
export interface Timer {
  restart(): void;
  cancel(): void;
}

export type StartTimer = (milliseconds: number, passed: () => void) => Timer;

export const systemTimer: StartTimer = (milliseconds, passed) => {
  const timeout = setTimeout(passed, milliseconds);
  // `refresh` also restarts a timeout that has passed.
  return { restart: () => void timeout.refresh(), cancel: () => clearTimeout(timeout) };
};
