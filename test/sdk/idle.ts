import { nativeClient } from '../live/client.ts';

type Figures = Record<string, number>;

/** For a busy machine to notice that somebody left; the number of tokens that it made shows that it did not finish. */
const promptly = 30_000;

/** Resolves with the figures of the server as soon as a generation runs. */
export function becomesBusy(base: string): Promise<Figures> {
  return nativeClient(base).performanceWhere(({ idle }) => idle === 0);
}

/** The figures of the server once nothing runs any more, which must be soon. */
export function becomesIdle(base: string): Promise<Figures> {
  return soon(base, ({ idle, queue }) => idle === 1 && queue === 0);
}

/** The figures of the server once nobody waits any more, which must be soon. */
export function queueEmpties(base: string): Promise<Figures> {
  return soon(base, ({ queue }) => queue === 0);
}

function soon(base: string, wished: (figures: Figures) => boolean): Promise<Figures> {
  const deadline = performance.now() + promptly;
  return nativeClient(base).performanceWhere((figures) => {
    if (performance.now() > deadline) throw new Error('the server still serves somebody who left');
    return wished(figures);
  });
}
