import { nativeClient } from '../live/client.ts';

/** Long enough for a busy machine to notice that somebody left, and far shorter than the work that was left. */
const promptly = 3000;

/** Resolves with the figures of the server as soon as a generation runs. */
export function becomesBusy(base: string): Promise<Record<string, number>> {
  return nativeClient(base).performanceWhere(({ idle }) => idle === 0);
}

/** The figures of the server once nothing runs any more, which must be soon. */
export async function becomesIdle(base: string): Promise<Record<string, number>> {
  const deadline = performance.now() + promptly;
  return nativeClient(base).performanceWhere(({ idle, queue }) => {
    if (performance.now() > deadline) throw new Error('the server is still at work for somebody who left');
    return idle === 1 && queue === 0;
  });
}
