import type { TextState } from '../core/text-service.ts';
import type { Life, LifeState } from '../registry/life.ts';
import type { TextEngineProcess } from './engine.ts';
import { residentBytes } from './resident-bytes.ts';

/** A text engine as something that can be kept by name. */
export class TextLife implements Life {
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

  state(): LifeState {
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
