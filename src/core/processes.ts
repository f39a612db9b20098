/** Whether a process runs. One of another user refuses the signal. */
export function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Why a process could not be started. */
export interface StartFailure {
  readonly reason: string;
  /** The system is short of something, so that a later attempt may succeed. */
  readonly isPassing: boolean;
}

const shortages: Readonly<Record<string, string>> = {
  EMFILE: 'too many files are open (EMFILE); a higher limit (ulimit -n) helps',
  ENFILE: 'too many files are open on this machine (ENFILE)',
  EAGAIN: 'too many processes are running (EAGAIN)',
  ENOMEM: 'there is not enough memory (ENOMEM)',
};

export function startFailure({ code = '', message }: NodeJS.ErrnoException): StartFailure {
  const shortage = shortages[code];
  return { reason: shortage ?? message, isPassing: shortage !== undefined };
}
