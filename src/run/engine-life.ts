import type { EngineState } from '../engines/host/engine-state.ts';
import type { Life, LifeState } from '../registry/life.ts';
import { residentBytes } from './resident-bytes.ts';

/** An engine with a process of its own, as its host shows it. */
export interface HostedEngine {
  readonly pid: number | undefined;
  start(): void;
  stop(): Promise<void>;
  state(): EngineState;
  settled(): Promise<void>;
}

/** Such an engine as something that can be kept by name. */
export class EngineLife<Engine extends HostedEngine> implements Life {
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

  state(): LifeState {
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
