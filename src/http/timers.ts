/** A wait that can be begun anew and given up; passed in, so that a test decides when time has passed. */
export interface Timer {
  restart(): void;
  cancel(): void;
}

export type StartTimer = (milliseconds: number, passed: () => void) => Timer;

export const systemTimer: StartTimer = (milliseconds, passed) => {
  const timeout = setTimeout(passed, milliseconds);
  // `refresh` also begins a timeout anew that has already passed, which is what `restart` promises.
  return { restart: () => void timeout.refresh(), cancel: () => clearTimeout(timeout) };
};
