import { readFileSync } from 'node:fs';
import { spawnChild } from '../engines/host/child.ts';
import type { EngineProcessParts, StartTimer } from '../engines/host/engine-process.ts';
import type { Lifecycle, LifecycleState } from './lifecycle.ts';

/** An engine in its own process, or on a remote backend. */
export interface HostedEngine {
  /** The process that holds the model, if there is one. */
  readonly pid?: number | undefined;
  start(): void;
  stop(): Promise<void>;
  state(): { readonly type: string; readonly progress?: number; readonly reason?: string };
  settled(): Promise<void>;
}

/** Lifecycle of an engine of any kind, for the registry. */
export class EngineLifecycle<Engine extends HostedEngine> implements Lifecycle {
  constructor(
    readonly engine: Engine,
    /** Called when the model is loaded. */
    private readonly onLoaded: () => void = () => {},
  ) {}

  start(): void {
    this.engine.start();
  }

  stop(): Promise<void> {
    return this.engine.stop();
  }

  state(): LifecycleState {
    const { type, progress = 0, reason = '' } = this.engine.state();
    if (type === 'ready' || type === 'none') return { type: 'ready' };
    return type === 'failed' ? { type, reason } : { type: 'loading', progress };
  }

  async settled(): Promise<void> {
    await this.engine.settled();
    if (this.engine.state().type === 'ready') this.onLoaded();
  }

  bytes(): number | undefined {
    return this.engine.state().type === 'ready' ? residentBytes(this.engine.pid) : undefined;
  }
}

/** What every engine process is started with. */
type ProcessParts = Required<Pick<EngineProcessParts<never, never>, 'spawn' | 'startTimer' | 'proven'>>;

/** The lifecycles of one model: the second one knows that the first was loaded. */
export function lifecycles<Engine extends HostedEngine>(
  make: (parts: ProcessParts) => Engine,
): () => EngineLifecycle<Engine> {
  let proven = false;
  return () =>
    new EngineLifecycle(make({ spawn: spawnChild, startTimer: engineTimer, proven }), () => {
      proven = true;
    });
}

/** A timer for engine processes. It does not keep the program running. */
export const engineTimer: StartTimer = (milliseconds, passed) => {
  const timeout = setTimeout(passed, milliseconds).unref();
  return { cancel: () => clearTimeout(timeout) };
};

/** Resident memory of a process and its children; Linux only. */
export function residentBytes(pid: number | undefined): number | undefined {
  if (process.platform !== 'linux' || pid === undefined) return undefined;
  const own = ownBytes(pid);
  if (own === undefined) return undefined;
  return childrenOf(pid).reduce((sum, child) => sum + (residentBytes(child) ?? 0), own);
}

function ownBytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
