import { readFileSync } from 'node:fs';
import type { TextState } from '../core/text-service.ts';
import type { EngineState } from '../engines/host/engine-state.ts';
import type { Lifecycle, LifecycleState } from './lifecycle.ts';
import type { TextEngineProcess } from './text-engine.ts';

/** An engine in its own process. */
export interface HostedEngine {
  readonly pid: number | undefined;
  start(): void;
  stop(): Promise<void>;
  state(): EngineState;
  settled(): Promise<void>;
}

/** Lifecycle of such an engine, for the registry. */
export class EngineLifecycle<Engine extends HostedEngine> implements Lifecycle {
  constructor(
    readonly engine: Engine,
    /** Called when it has been loaded once: later failures may be temporary. */
    private readonly proved: () => void = () => {},
  ) {}

  start(): void {
    this.engine.start();
  }

  stop(): Promise<void> {
    return this.engine.stop();
  }

  state(): LifecycleState {
    const state = this.engine.state();
    switch (state.type) {
      case 'ready':
        return { type: 'ready' };
      case 'failed':
        return { type: 'failed', reason: state.reason };
      case 'starting':
        return { type: 'loading', progress: state.progress };
      default:
        return { type: 'loading', progress: 0 };
    }
  }

  async settled(): Promise<void> {
    await this.engine.settled();
    if (this.engine.state().type === 'ready') this.proved();
  }

  bytes(): number | undefined {
    return this.engine.state().type === 'ready' ? residentBytes(this.engine.pid) : undefined;
  }
}

/** Lifecycle of a text engine, for the registry. */
export class TextLifecycle implements Lifecycle {
  constructor(
    readonly engine: TextEngineProcess,
    /** Called with the state of the loaded model, which is reported while it is unloaded. */
    private readonly remember: (state: TextState) => void,
  ) {}

  start(): void {
    this.engine.start();
  }

  stop(): Promise<void> {
    return this.engine.stop();
  }

  state(): LifecycleState {
    const state = this.engine.state();
    if (state.type === 'loading') return { type: 'loading', progress: state.progress };
    return state.type === 'failed' ? { type: 'failed', reason: state.reason } : { type: 'ready' };
  }

  async settled(): Promise<void> {
    await this.engine.settled();
    const state = this.engine.state();
    if (state.type === 'ready') this.remember(state);
  }

  bytes(): number | undefined {
    return this.engine.state().type === 'ready' ? residentBytes(this.engine.pid) : undefined;
  }
}

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
