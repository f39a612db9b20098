import { readFileSync } from 'node:fs';
import type { TextState } from '../core/text-service.ts';
import type { EngineState } from '../engines/host/engine-state.ts';
import type { Lifecycle, LifecycleState } from './lifecycle.ts';
import type { TextEngineProcess } from './text-engine.ts';

/** An engine with a process of its own, as its host shows it. */
export interface HostedEngine {
  readonly pid: number | undefined;
  start(): void;
  stop(): Promise<void>;
  state(): EngineState;
  settled(): Promise<void>;
}

/** Such an engine as something that can be kept by name. */
export class EngineLifecycle<Engine extends HostedEngine> implements Lifecycle {
  constructor(
    readonly engine: Engine,
    /** Told once it has been there: what fails later may pass. */
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

/** A text engine as something that can be kept by name. */
export class TextLifecycle implements Lifecycle {
  constructor(
    readonly engine: TextEngineProcess,
    /** Told of the state that it has once it is there: when it is gone, that is what is known of it. */
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

/** What a process and those that it started hold in memory; only Linux tells. */
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
