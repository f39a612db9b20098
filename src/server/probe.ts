import { fileURLToPath } from 'node:url';
import type { Probe } from '../core/probe.ts';
import { systemTimer } from '../core/timers.ts';
import { type ChildExit, type Spawn, spawnChild } from '../engines/host/child.ts';
import type { StartTimer } from '../engines/host/engine-process.ts';
import { howItDied } from '../engines/host/engine-state.ts';

/** A processor or GPU that a library can compute with. */
export interface ProbedDevice {
  readonly name: string;
  readonly graphics: boolean;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** What a library says about itself. */
export interface Probed {
  readonly version?: string;
  readonly devices?: readonly ProbedDevice[];
}

export type ProbeResult = ({ readonly type: 'loaded' } & Probed) | { readonly type: 'failed'; readonly reason: string };

/** Graphics drivers may need many seconds at their first use. */
const timeoutMs = 30_000;

function lastError({ lastLines }: ChildExit): readonly string[] {
  const line = lastLines.findLast((one) => /error/i.test(one)) ?? lastLines.at(-1);
  return line ? [line.trim()] : [];
}

/** Loads a native part in a process of its own, because it may crash or hang. Never rejects. */
export function runProbe(
  probe: Probe,
  { spawn = spawnChild, startTimer = systemTimer }: { spawn?: Spawn; startTimer?: StartTimer } = {},
): Promise<ProbeResult> {
  const result = new Promise<ProbeResult>((resolve) => {
    const entry = fileURLToPath(new URL('./probe-worker.js', import.meta.url));
    const failed = (reason: string): void => end({ type: 'failed', reason });
    const child = spawn<Probe, ProbeResult>(entry, {
      message: (result) => end(result),
      exit: (exit) => failed([howItDied(exit), ...lastError(exit)].join(': ')),
    });
    const timer = startTimer(timeoutMs, () => failed(`it did not load within ${timeoutMs / 1000} seconds`));
    function end(result: ProbeResult): void {
      timer.cancel();
      resolve(result);
      child.kill();
    }
    child.send(probe);
  });
  return result.catch((error: Error) => ({ type: 'failed', reason: error.message }));
}
